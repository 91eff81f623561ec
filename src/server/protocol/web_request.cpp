#include "server/protocol/web_request.hpp"

#include <algorithm>
#include <array>

#include "server/calls/words.hpp"

namespace tutti::server {
namespace {

constexpr std::string_view host = "HOST:";
constexpr std::string_view version = "HTTP/";

/// The methods of HTTP: RFC 9110, section 9, and RFC 5789.
constexpr std::array<std::string_view, 9> methods{"GET",     "HEAD",    "POST",  "PUT",  "DELETE",
                                                  "CONNECT", "OPTIONS", "TRACE", "PATCH"};

bool begins_with(std::string_view word, std::string_view with) noexcept {
    return word.size() >= with.size() && equals_ignoring_case(word.substr(0, with.size()), with);
}

/// Returns true for the target of a request: a path, a URL, or the asterisk of OPTIONS.
bool is_target(std::string_view word) noexcept {
    return word.starts_with('/') || word == "*" || word.find("://") != std::string_view::npos;
}

}  // namespace

bool is_of_http(std::span<const std::string_view> words) noexcept {
    if (begins_with(words[0], host)) return true;
    // CALL is excluded, because its arguments may contain a path and a version. No other request has words that a
    // client's users may choose.
    if (words.size() < 2 || equals_ignoring_case(words[0], "CALL")) return false;
    const bool is_method =
        std::ranges::any_of(methods, [&](std::string_view method) { return equals_ignoring_case(words[0], method); });
    if (is_method && (is_target(words[1]) || begins_with(words.back(), version))) return true;
    return words.size() == 3 && is_target(words[1]) && begins_with(words[2], version);
}

}  // namespace tutti::server
