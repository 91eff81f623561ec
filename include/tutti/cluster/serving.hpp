/// @file
/// Makes a node available to a transaction server, whose procedures then work on objects of the cluster.
///
///     tutti::cluster::node here{tutti::cluster::configuration::from_environment()};
///     tutti::cluster::serving objects{here};
///     tutti::server::service bank{{.port = 7411, .cluster = &objects}};
#pragma once

#include "tutti/cluster/node.hpp"
#include "tutti/server/cluster.hpp"

namespace tutti::cluster {

class serving final : public server::cluster_access {
public:
    /// REQUIRES: `of` outlives the service.
    explicit serving(cluster::node& of) noexcept : node_{of} {}

    [[nodiscard]] cluster::node& node() noexcept override { return node_; }
    [[nodiscard]] server::cluster_statistics statistics() const override {
        const node_statistics s = node_.statistics();
        server::cluster_statistics f{.node = node_.number(),
                                     .nodes = node_.nodes(),
                                     .commits = s.commits,
                                     .aborts = s.aborts,
                                     .round_trips = s.round_trips,
                                     .in_doubt = s.transactions_in_doubt};
        for (unsigned n = 0; n < f.nodes; ++n) f.lost += node_.lost(n) ? 1U : 0U;
        return f;
    }

    [[nodiscard]] call_transport* calls() noexcept override { return node_.calls(); }

private:
    cluster::node& node_;
};

}  // namespace tutti::cluster
