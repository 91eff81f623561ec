// Where a node listens: `host:port`, `unix:/path`, or `zmq:host:port`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <asio.hpp>

#include "wire/refusal.hpp"

namespace tutti::wire {

using stream = asio::generic::stream_protocol;

struct address {
    std::string text;  ///< as it was given
    stream::endpoint endpoint;
    std::string path;     ///< of a Unix socket
    bool zeromq = false;  ///< spoken to by ZeroMQ
};

[[nodiscard]] bool is_of_zeromq(std::string_view text) noexcept;

/// Throws refusal, also for an address beyond loopback unless what goes over it is `encrypted`.
[[nodiscard]] address parse_address(std::string_view text, bool encrypted = false);

/// A host that is a number, and a port; 0 only where the system may choose one. Throws refusal.
[[nodiscard]] asio::ip::tcp::endpoint parse_tcp(std::string_view text, bool any_port = false);

/// What hellos of one cluster have in common: a hash of its name and of its list of nodes.
[[nodiscard]] std::uint64_t cluster_number(const std::string& name, const std::vector<std::string>& addresses);

}  // namespace tutti::wire
