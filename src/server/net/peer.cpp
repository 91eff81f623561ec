#include "server/net/peer.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstring>

namespace tutti::server {
namespace {

/// The address of a socket's other side, or of the socket's own side.
struct address_of_socket {
    sockaddr_storage address{};
    bool known = false;

    explicit address_of_socket(int socket, decltype(&::getpeername) get = ::getpeername) noexcept {
        socklen_t size = sizeof address;
        known = get(socket, reinterpret_cast<sockaddr*>(&address), &size) == 0;
    }
    [[nodiscard]] const in_addr& v4() const noexcept { return reinterpret_cast<const sockaddr_in&>(address).sin_addr; }
    [[nodiscard]] const in6_addr& v6() const noexcept {
        return reinterpret_cast<const sockaddr_in6&>(address).sin6_addr;
    }
};

/// Returns the last four bytes of `from`, in which an IPv6 socket shows the address of an IPv4 client.
in_addr mapped_v4(const in6_addr& from) noexcept {
    in_addr v4{};
    std::memcpy(&v4, from.s6_addr + 12, sizeof v4);
    return v4;
}

bool is_loopback_v4(const in_addr& a) noexcept { return (ntohl(a.s_addr) >> 24) == IN_LOOPBACKNET; }

std::string text_of(int family, const void* address) {
    std::array<char, INET6_ADDRSTRLEN> text{};
    return ::inet_ntop(family, address, text.data(), text.size()) == nullptr ? "unknown" : text.data();
}

bool is_of_this_machine(const address_of_socket& p) noexcept {
    if (!p.known) return false;
    if (p.address.ss_family == AF_UNIX) return true;
    if (p.address.ss_family == AF_INET) return is_loopback_v4(p.v4());
    if (p.address.ss_family != AF_INET6) return false;
    return IN6_IS_ADDR_LOOPBACK(&p.v6()) != 0 ||
           (IN6_IS_ADDR_V4MAPPED(&p.v6()) != 0 && is_loopback_v4(mapped_v4(p.v6())));
}

}  // namespace

std::string origin_of_peer(int socket) {
    const address_of_socket p{socket};
    if (!p.known) return "gone";
    if (p.address.ss_family == AF_UNIX) {
        ucred user{};
        socklen_t size = sizeof user;
        if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &user, &size) != 0) return "unix";
        return "unix:" + std::to_string(user.uid);
    }
    if (p.address.ss_family == AF_INET) return text_of(AF_INET, &p.v4());
    if (p.address.ss_family != AF_INET6) return "unknown";
    if (IN6_IS_ADDR_V4MAPPED(&p.v6())) {
        const in_addr v4 = mapped_v4(p.v6());
        return text_of(AF_INET, &v4);
    }
    in6_addr network = p.v6();
    if (!IN6_IS_ADDR_LOOPBACK(&network)) std::memset(network.s6_addr + 8, 0, 8);
    return text_of(AF_INET6, &network);
}

bool is_on_this_machine(int socket) noexcept { return is_of_this_machine(address_of_socket{socket}); }

bool is_bound_to_this_machine(int listener) noexcept {
    return is_of_this_machine(address_of_socket{listener, ::getsockname});
}

}  // namespace tutti::server
