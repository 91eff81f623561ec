/// @file
/// What a server knows of the cluster whose objects its procedures use. <tutti/cluster/serving.hpp> makes it of a
/// node: so a program without a cluster links none.
#pragma once

#include <cstdint>

#include "tutti/detail/config.hpp"

namespace tutti::cluster {
class node;
class call_carrier;
}  // namespace tutti::cluster

namespace tutti::server {

/// What INFO shows of it.
struct cluster_figures {
    unsigned node = 0;   ///< this server's number
    unsigned nodes = 1;  ///< in all
    unsigned lost = 0;   ///< of them
    std::uint64_t commits = 0, aborts = 0, round_trips = 0;
    std::uint64_t in_doubt = 0;  ///< transactions of servers that are gone, which hold objects of this one
};

/// Thread safety: every member.
class TUTTI_EXPORT cluster_access {
public:
    cluster_access() = default;
    cluster_access(const cluster_access&) = delete;
    cluster_access& operator=(const cluster_access&) = delete;
    virtual ~cluster_access() = default;

    [[nodiscard]] virtual cluster::node& node() noexcept = 0;
    [[nodiscard]] virtual cluster_figures look() const = 0;
    /// What carries calls to other servers; null where there are none.
    [[nodiscard]] virtual cluster::call_carrier* calls() noexcept { return nullptr; }
};

}  // namespace tutti::server
