// The address where a node listens: `host:port`, `unix:/path`, or `zmq:host:port`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <asio.hpp>

#include "wire/wire_error.hpp"

namespace tutti::wire {

using stream = asio::generic::stream_protocol;

struct address {
    std::string text;  ///< the address as it was given
    stream::endpoint endpoint;
    std::string path;     ///< the path of a Unix socket
    bool zeromq = false;  ///< the connection uses ZeroMQ
};

[[nodiscard]] bool is_of_zeromq(std::string_view text) noexcept;

/// Parses an address. Throws wire_error if the text is not a valid address, or if the address is beyond loopback and
/// the traffic is not `encrypted`.
[[nodiscard]] address parse_address(std::string_view text, bool encrypted = false);

/// Parses a numeric host and a port. Port 0, with which the system chooses a port, is allowed only with `any_port`.
/// Throws wire_error.
[[nodiscard]] asio::ip::tcp::endpoint parse_tcp(std::string_view text, bool any_port = false);

/// Returns the number that all hellos of one cluster contain: a hash of the cluster's name and of its list of nodes.
[[nodiscard]] std::uint64_t cluster_number(const std::string& name, const std::vector<std::string>& addresses);

}  // namespace tutti::wire
