/// @file
/// A server's view of the cluster whose objects its procedures use. <tutti/cluster/serving.hpp> implements this
/// interface with a node. So a program without a cluster does not link the cluster library.
#pragma once

#include <cstdint>

#include "tutti/detail/config.hpp"

namespace tutti::cluster {
class node;
class call_transport;
}  // namespace tutti::cluster

namespace tutti::server {

/// The cluster figures that INFO shows.
struct cluster_statistics {
    unsigned node = 0;   ///< the number of this server's node
    unsigned nodes = 1;  ///< number of all nodes
    unsigned lost = 0;   ///< number of lost nodes
    std::uint64_t commits = 0, aborts = 0, round_trips = 0;
    std::uint64_t in_doubt = 0;  ///< transactions of lost servers that still hold objects of this server
};

/// Access to a cluster. Thread safety: you can call every member from any thread.
class TUTTI_EXPORT cluster_access {
public:
    cluster_access() = default;
    cluster_access(const cluster_access&) = delete;
    cluster_access& operator=(const cluster_access&) = delete;
    virtual ~cluster_access() = default;

    [[nodiscard]] virtual cluster::node& node() noexcept = 0;
    [[nodiscard]] virtual cluster_statistics statistics() const = 0;
    /// Returns the transport of calls to other servers; null if there are no other servers.
    [[nodiscard]] virtual cluster::call_transport* calls() noexcept { return nullptr; }
};

}  // namespace tutti::server
