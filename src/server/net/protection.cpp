#include "server/net/protection.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <memory>
#include <stdexcept>

#include "tutti/server/endpoint.hpp"

namespace tutti::server {
namespace {

/// Returns true if the address is on this machine. Returns true also for other address families, such as Unix sockets.
bool is_of_this_machine(const sockaddr& address) noexcept {
    constexpr std::uint32_t first_byte = 0xff000000U, loopback = 0x7f000000U;
    if (address.sa_family == AF_INET) {
        const auto& four = reinterpret_cast<const sockaddr_in&>(address);
        return (ntohl(four.sin_addr.s_addr) & first_byte) == loopback;
    }
    if (address.sa_family != AF_INET6) return true;
    const in6_addr& six = reinterpret_cast<const sockaddr_in6&>(address).sin6_addr;
    if (IN6_IS_ADDR_V4MAPPED(&six)) return six.s6_addr[12] == 127;
    return IN6_IS_ADDR_LOOPBACK(&six);
}

bool is_beyond_loopback(const std::string& host) {
    addrinfo wanted{};
    wanted.ai_family = AF_UNSPEC;
    wanted.ai_socktype = SOCK_STREAM;
    wanted.ai_flags = AI_PASSIVE;  // as in listen_tcp
    addrinfo* first = nullptr;
    if (::getaddrinfo(host.c_str(), "0", &wanted, &first) != 0) return false;
    const std::unique_ptr<addrinfo, void (*)(addrinfo*)> all{first, ::freeaddrinfo};
    for (const addrinfo* a = first; a != nullptr; a = a->ai_next) {
        if (!is_of_this_machine(*a->ai_addr)) return true;
    }
    return false;
}

[[noreturn]] void refuse_unprotected(const std::string& where) {
    throw std::invalid_argument{
        "'" + where +
        "' is beyond loopback, and every client could call every procedure: give users ([users] of --config), a "
        "password (--password-file) or a certificate (--tls-certificate), or --unprotected if only trusted machines "
        "can connect"};
}

}  // namespace

void require_protection(const settings& how) {
    if (how.unprotected || !how.users.empty() || !how.password.empty() || !how.tls.certificate.empty()) return;
    if (how.port && is_beyond_loopback(how.host)) refuse_unprotected(to_string(endpoint{how.host, *how.port}));
    for (const int descriptor : how.inherited) {
        sockaddr_storage address{};
        socklen_t size = sizeof address;
        // A descriptor that is not a socket needs no check here, because adopt_listener() refuses it.
        if (::getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &size) != 0) continue;
        if (!is_of_this_machine(reinterpret_cast<const sockaddr&>(address)))
            refuse_unprotected("the inherited socket " + std::to_string(descriptor));
    }
}

}  // namespace tutti::server
