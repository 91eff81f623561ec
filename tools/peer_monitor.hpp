// Reports to the operator when other nodes of a cluster are lost, and when they have rejoined.
#pragma once

#include <string>
#include <vector>

#include <tutti/cluster/node.hpp>

#include "operator_log.hpp"

namespace tutti::tools {

class peer_monitor {
public:
    /// `how` are the options that the node was made with. `of` and `how` must outlive this object.
    peer_monitor(const cluster::node& of, const cluster::node_options& how, const operator_log& log)
        : of_{of}, how_{how}, log_{log}, reported_lost_(of.nodes()) {}

    /// Reports nodes that have been lost or have rejoined since the previous call. Must be called by one thread.
    void report_changes();

private:
    const cluster::node& of_;
    const cluster::node_options& how_;
    const operator_log log_;
    std::vector<bool> reported_lost_;
};

}  // namespace tutti::tools
