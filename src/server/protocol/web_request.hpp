// Recognises HTTP where a request of this protocol was expected.
//
// A web page can have its visitor's browser send bytes to any port, also one of 127.0.0.1: a POST, whose body the page
// chooses. The lines of that body would be requests. So the first line that only HTTP has ends the connection, before
// anything behind that line is read.
#pragma once

#include <span>
#include <string_view>

namespace tutti::server {

/// Returns true for the first line of a request of HTTP (a method and a path, or any line that ends in the version of
/// HTTP), and for the header `Host:`, in any case of letters. REQUIRES: at least one word. O(length of three words).
[[nodiscard]] bool is_of_http(std::span<const std::string_view> words) noexcept;

/// What the client is answered, and what the operator is told.
inline constexpr std::string_view refused_http =
    "protocol: HTTP is not spoken here, and the connection is closed so that no web page can send requests; /metrics "
    "has a port of its own (--metrics-port)";

}  // namespace tutti::server
