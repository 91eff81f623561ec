// Where Prometheus asks a member of a group, or a node: what TUTTI_CLUSTER_FIGURES lists, peers, and attempts that were
// rolled back.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "exposition/web_server.hpp"
#include "tutti/cluster/member.hpp"
#include "tutti/cluster/status.hpp"

namespace tutti::cluster {

/// Listens on `address`, a host of loopback and a port, 0 of which the system chooses. `look` is called by any thread.
/// Throws wire::refusal, or std::runtime_error where it cannot listen.
[[nodiscard]] std::unique_ptr<exposition::web_server> expose(const std::string& address,
                                                             std::function<node_facts()> look);

/// The same for a member of a group.
[[nodiscard]] std::unique_ptr<exposition::web_server> expose_member(const std::string& address,
                                                                    std::function<member_facts()> look);

}  // namespace tutti::cluster
