// Finds a free port for a program that is about to start.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <random>
#include <stdexcept>

namespace cli {

namespace detail {

/// Returns a socket bound to the address, or -1 if another process uses the address.
template <class Address>
int bound_to(const Address& a, std::size_t size) {
    const int s = ::socket(reinterpret_cast<const sockaddr*>(&a)->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (s < 0) throw std::runtime_error{"no file descriptor is left"};
    if (::bind(s, reinterpret_cast<const sockaddr*>(&a), static_cast<socklen_t>(size)) == 0) return s;
    ::close(s);
    return -1;
}

}  // namespace detail

/// Returns an unused TCP port of 127.0.0.1. The port is outside of the range from which the kernel assigns ports by
/// itself, so it is still free when the program listens. Until this process ends, no other call in any process returns
/// the same port. Throws std::runtime_error.
inline int free_port() {
    int low = 0, high = -1;
    std::ifstream{"/proc/sys/net/ipv4/ip_local_port_range"} >> low >> high;
    constexpr unsigned first = 10000, count = 65536 - first;
    const unsigned begin = std::random_device{}();
    for (unsigned i = 0; i < count; ++i) {
        const int port = static_cast<int>(first + (begin % count + i) % count);
        if (port >= low && port <= high) continue;
        sockaddr_un reserved{};  // an abstract name, which is free again once the process ends
        reserved.sun_family = AF_UNIX;
        const int length = std::snprintf(reserved.sun_path + 1, sizeof reserved.sun_path - 1, "tutti-port-%d", port);
        const int mine = detail::bound_to(reserved, offsetof(sockaddr_un, sun_path) + 1 + std::size_t(length));
        if (mine < 0) continue;
        sockaddr_in a{};
        a.sin_family = AF_INET;
        a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        a.sin_port = htons(static_cast<std::uint16_t>(port));
        if (const int s = detail::bound_to(a, sizeof a); s >= 0) {
            ::close(s);
            return port;
        }
        ::close(mine);
    }
    throw std::runtime_error{"no port is free on 127.0.0.1"};
}

}  // namespace cli
