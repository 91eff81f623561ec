// Requests and answers of HTTP/1. Supports only what pages for GET and HEAD need.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "exposition/page.hpp"

namespace tutti::exposition {

/// The maximum size in bytes of a request line and its header fields.
inline constexpr std::size_t max_head_bytes = 8192;

struct web_request {
    enum class state : std::uint8_t { incomplete, complete, malformed, too_long };

    state is = state::incomplete;
    std::string_view method{};
    std::string_view path{};  ///< without the query
};

/// Reads the request at the beginning of `received`; the result refers to these bytes. Ignores header fields and the
/// body. O(n).
[[nodiscard]] web_request read_request(std::string_view received) noexcept;

/// Returns the bytes of an answer that closes the connection. If `head_only`, the answer does not include the text of
/// the page.
[[nodiscard]] std::string answer_of(const page& p, bool head_only);

}  // namespace tutti::exposition
