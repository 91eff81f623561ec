/// @file
/// The address of a server as people write it: `host:port`, with an IPv6 address in brackets (RFC 3986, 3.2.2).
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tutti/detail/config.hpp"

namespace tutti::server {

struct endpoint {
    std::string host{};
    std::uint16_t port = 0;
};

/// Returns `::1` for `[::1]`. Returns a host without brackets unchanged.
[[nodiscard]] inline std::string without_brackets(std::string_view host) {
    const bool has_some = host.size() > 2 && host.front() == '[' && host.back() == ']';
    return std::string{has_some ? host.substr(1, host.size() - 2) : host};
}

/// Parses `host:port` or `[host]:port`. Returns nullopt for any other text, and for a port that is not a number from 1
/// to 65535.
[[nodiscard]] inline std::optional<endpoint> parse_endpoint(std::string_view text) {
    const std::size_t colon = text.rfind(':');
    if (colon == 0 || colon == std::string_view::npos) return std::nullopt;
    endpoint e{.host = without_brackets(text.substr(0, colon)), .port = 0};
    const char* const end = text.data() + text.size();
    const auto [stopped, failed] = std::from_chars(text.data() + colon + 1, end, e.port);
    if (failed != std::errc{} || stopped != end || e.port == 0) return std::nullopt;
    return e;
}

/// Returns the text that `parse_endpoint` reads.
[[nodiscard]] inline std::string to_string(const endpoint& e) {
    const std::string host = without_brackets(e.host);
    const bool needs_brackets = host.find(':') != std::string::npos;
    return (needs_brackets ? "[" + host + "]" : host) + ":" + std::to_string(e.port);
}

}  // namespace tutti::server
