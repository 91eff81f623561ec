#include "cluster/backend/member_address.hpp"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstring>
#include <memory>

#include "cluster/backend/backend.hpp"

namespace tutti::cluster::backend::group {
namespace {

constexpr std::size_t max_name = 253;

bool split(const std::string& text, std::string& host, int& port) {
    const std::size_t colon = text.rfind(':');
    if (colon == std::string::npos) return false;
    host = text.substr(0, colon);
    const char* const end = text.data() + text.size();
    const auto [stopped, failed] = std::from_chars(text.data() + colon + 1, end, port);
    if (failed != std::errc{} || stopped != end || port < 1 || port > 65535) return false;
    if (host == "localhost") host = "127.0.0.1";
    const bool brackets = host.starts_with('[') && host.ends_with(']');
    if (brackets) host = host.substr(1, host.size() - 2);
    return brackets == (host.find(':') != std::string::npos);
}

/// Returns true for the name of a host. The last label must contain a letter, so a misspelt number is not a name.
bool is_name(const std::string& host) {
    const auto may_be_there = [](unsigned char c) { return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.'; };
    const std::string last = host.substr(host.find_last_of('.') == std::string::npos ? 0 : host.find_last_of('.') + 1);
    return !host.empty() && host.size() <= max_name && std::ranges::all_of(host, may_be_there) &&
           std::ranges::any_of(last, [](unsigned char c) { return std::isalpha(c) != 0; });
}

bool fill(const std::string& host, int port, socket_address& to) {
    sockaddr_in four{};
    sockaddr_in6 six{};
    if (::inet_pton(AF_INET, host.c_str(), &four.sin_addr) == 1) {
        four.sin_family = AF_INET;
        four.sin_port = htons(static_cast<std::uint16_t>(port));
        std::memcpy(&to.at, &four, sizeof four);
        to.length = sizeof four;
        return true;
    }
    if (::inet_pton(AF_INET6, host.c_str(), &six.sin6_addr) != 1) return false;
    six.sin6_family = AF_INET6;
    six.sin6_port = htons(static_cast<std::uint16_t>(port));
    std::memcpy(&to.at, &six, sizeof six);
    to.length = sizeof six;
    return true;
}

bool is_any(const socket_address& p) {
    if (p.at.ss_family == AF_INET)
        return reinterpret_cast<const sockaddr_in&>(p.at).sin_addr.s_addr == htonl(INADDR_ANY);
    return IN6_IS_ADDR_UNSPECIFIED(&reinterpret_cast<const sockaddr_in6&>(p.at).sin6_addr);
}

[[noreturn]] void refuse(const std::string& text, bool beyond) {
    if (beyond) {
        throw engine_error{
            "'" + text +
            "' is beyond loopback, and its traffic would not be encrypted: give a certificate, its key and the "
            "authority (engine_options::tls or member_options::tls; --certificate, --key and --authority; or "
            "TUTTI_CLUSTER_CERTIFICATE, TUTTI_CLUSTER_KEY and TUTTI_CLUSTER_AUTHORITY), or an address of "
            "127.0.0.0/8"};
    }
    throw engine_error{
        "'" + text +
        "' is not a member's address: give host:port, the host as a name or a number that others reach it "
        "by, such as 127.0.0.1:7001 or [::1]:7001"};
}

}  // namespace

bool is_loopback(const sockaddr& at) noexcept {
    if (at.sa_family == AF_INET) return ntohl(reinterpret_cast<const sockaddr_in&>(at).sin_addr.s_addr) >> 24 == 127;
    if (at.sa_family != AF_INET6) return false;
    const in6_addr& six = reinterpret_cast<const sockaddr_in6&>(at).sin6_addr;
    return IN6_IS_ADDR_LOOPBACK(&six) || (IN6_IS_ADDR_V4MAPPED(&six) && six.s6_addr[12] == 127);
}

bool parse_member_address(const std::string& text, std::string& host, int& port, bool encrypted) {
    socket_address number;
    if (!split(text, host, port)) return false;
    if (!fill(host, port, number)) return is_name(host);
    return !is_any(number) && (encrypted || is_loopback(*number.raw()));
}

void check_member_address(const std::string& text, bool encrypted) {
    std::string host;
    int port = 0;
    if (parse_member_address(text, host, port, encrypted)) return;
    refuse(text, !encrypted && parse_member_address(text, host, port, true));
}

void check_listening_address(const std::string& text, bool encrypted) {
    std::string host;
    int port = 0;
    socket_address number;
    const bool any = split(text, host, port) && fill(host, port, number) && is_any(number);
    if (!any) return check_member_address(text, encrypted);
    if (!encrypted) refuse(text, true);
}

std::string normalized_address(const std::string& text) {
    std::string host;
    int port = 0;
    static_cast<void>(split(text, host, port));
    const bool six = host.find(':') != std::string::npos;
    return (six ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

bool parse_numeric_address(const std::string& address, socket_address& to) {
    std::string host;
    int port = 0;
    return split(address, host, port) && fill(host, port, to);
}

bool is_numeric(const std::string& address) {
    socket_address any;
    return parse_numeric_address(address, any);
}

std::vector<socket_address> resolve_addresses(const std::string& address, bool encrypted, std::string& reason) {
    std::string host;
    int port = 0;
    std::vector<socket_address> all(1);
    if (!split(address, host, port)) {
        reason = "'" + address + "' is not a member's address";
        return {};
    }
    if (!fill(host, port, all.front())) {
        all.clear();
        addrinfo wanted{}, *found = nullptr;
        wanted.ai_socktype = SOCK_STREAM;
        if (const int failed = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &wanted, &found);
            failed != 0) {
            reason = "the name " + host + " cannot be looked up: " + ::gai_strerror(failed);
            return {};
        }
        const std::unique_ptr<addrinfo, void (*)(addrinfo*)> hold{found, &::freeaddrinfo};
        for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
            socket_address& p = all.emplace_back();
            std::memcpy(&p.at, one->ai_addr, one->ai_addrlen);
            p.length = one->ai_addrlen;
        }
    }
    if (!encrypted) std::erase_if(all, [](const socket_address& p) { return !is_loopback(*p.raw()); });
    if (all.empty()) reason = "'" + address + "' is beyond loopback, and its traffic would not be encrypted";
    return all;
}

}  // namespace tutti::cluster::backend::group
