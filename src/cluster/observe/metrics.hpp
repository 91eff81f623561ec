// The metrics of a group's member or of a node for Prometheus: the figures of TUTTI_CLUSTER_COUNTERS, the peers, and
// the attempts that were rolled back.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "exposition/web_server.hpp"
#include "tutti/cluster/member.hpp"
#include "tutti/cluster/status.hpp"

namespace tutti::cluster {

/// Listens on `address`, a loopback host and a port. If the port is 0, the system chooses a port. Any thread may call
/// `read_status`. Throws wire::wire_error or std::runtime_error on failure.
[[nodiscard]] std::unique_ptr<exposition::web_server> expose(const std::string& address,
                                                             std::function<node_status()> read_status);

/// Listens as `expose` does, for a member of a group.
[[nodiscard]] std::unique_ptr<exposition::web_server> expose_member(const std::string& address,
                                                                    std::function<member_status()> read_status);

}  // namespace tutti::cluster
