// Where a node listens: `host:port` or `unix:/path`.
#pragma once

#include <string>
#include <string_view>

#include <asio.hpp>

namespace tutti::wire {

/// What an address, or a connection, is refused for; the message says what to do.
class refusal : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

using stream = asio::generic::stream_protocol;

struct address {
    std::string text;  ///< as it was given
    stream::endpoint endpoint;
    std::string path;  ///< of a Unix socket
};

/// Throws refusal, also for an address beyond loopback unless what goes over it is `encrypted`.
[[nodiscard]] address parse_address(std::string_view text, bool encrypted = false);

}  // namespace tutti::wire
