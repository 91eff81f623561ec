// Recognizes HTTP on a port that expects the server's own protocol.
//
// A web page can make its visitor's browser send a POST to any port, even on 127.0.0.1. The page chooses the body of
// the POST, and the server would read each line of the body as a request. So a line that can only be HTTP ends the
// connection, before anything after that line is read.
#pragma once

#include <span>
#include <string_view>

namespace tutti::server {

/// Returns true for the first line of an HTTP request, and for the header `Host:`, in any case of letters. A first line
/// has a method and a path, or ends in the version of HTTP. REQUIRES: at least one word. O(length of three words).
[[nodiscard]] bool is_of_http(std::span<const std::string_view> words) noexcept;

/// The answer to a client that sends HTTP, and the message in the log.
inline constexpr std::string_view refused_http =
    "Protocol error: HTTP request on the port for clients. The server closes the connection, so that no web page can "
    "send commands. /metrics has its own port (--metrics-port)";

}  // namespace tutti::server
