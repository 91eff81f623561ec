#include "exposition/web_listener.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <stdexcept>
#include <system_error>

namespace tutti::exposition {
namespace {

constexpr int backlog = 128;

std::string origin_of(const sockaddr_storage& from) {
    const auto bytes = [](const void* first, std::size_t count) {
        return std::string{static_cast<const char*>(first), count};
    };
    if (from.ss_family == AF_INET) return bytes(&reinterpret_cast<const sockaddr_in&>(from).sin_addr, 4);
    if (from.ss_family != AF_INET6) return {};
    const in6_addr& v6 = reinterpret_cast<const sockaddr_in6&>(from).sin6_addr;
    return IN6_IS_ADDR_V4MAPPED(&v6) != 0 ? bytes(v6.s6_addr + 12, 4) : bytes(v6.s6_addr, 8);
}

}  // namespace

owned_descriptor::~owned_descriptor() {
    if (descriptor_ >= 0) ::close(descriptor_);
}

owned_descriptor listen_for_web(const std::string& host, std::uint16_t port) {
    const bool is_v6 = host.find(':') != std::string::npos;
    const bool has_brackets = host.starts_with('[') && host.ends_with(']');
    const std::string bare = has_brackets ? host.substr(1, host.size() - 2) : host;
    const std::string address = (is_v6 ? "[" + bare + "]" : bare) + ":" + std::to_string(port);
    const auto fail = [&](const std::string& why) {
        throw std::runtime_error{"cannot listen on " + address + " for metrics: " + why};
    };
    addrinfo wanted{};
    wanted.ai_family = AF_UNSPEC;
    wanted.ai_socktype = SOCK_STREAM;
    wanted.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
    addrinfo* first = nullptr;
    const int failed = ::getaddrinfo(bare.c_str(), std::to_string(port).c_str(), &wanted, &first);
    if (failed != 0) fail(::gai_strerror(failed));
    const std::unique_ptr<addrinfo, void (*)(addrinfo*)> found{first, ::freeaddrinfo};
    owned_descriptor socket{::socket(first->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)};
    const int on = 1;
    if (socket.get() < 0 || ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
        ::bind(socket.get(), first->ai_addr, first->ai_addrlen) != 0 || ::listen(socket.get(), backlog) != 0)
        fail(std::generic_category().message(errno));
    return socket;
}

std::uint16_t port_of(const owned_descriptor& listener) noexcept {
    sockaddr_storage own{};
    socklen_t size = sizeof own;
    if (::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&own), &size) != 0) return 0;
    // The port is at the same offset in IPv4 and IPv6 addresses.
    return ntohs(reinterpret_cast<const sockaddr_in&>(own).sin_port);
}

web_peer accept_web(const owned_descriptor& listener) {
    sockaddr_storage from{};
    socklen_t size = sizeof from;
    owned_descriptor socket{
        ::accept4(listener.get(), reinterpret_cast<sockaddr*>(&from), &size, SOCK_NONBLOCK | SOCK_CLOEXEC)};
    if (socket.get() < 0) return {};
    return {std::move(socket), origin_of(from)};
}

}  // namespace tutti::exposition
