// Reports to the operator when other nodes of a cluster are lost, and when they are back.
#pragma once

#include <string>
#include <vector>

#include <tutti/cluster/node.hpp>

#include "operator_log.hpp"

namespace tutti::tools {

class peer_monitor {
public:
    /// `of` and `how`, the options that it was made with, must outlive this object.
    peer_monitor(const cluster::node& of, const cluster::node_options& how, const operator_log& log)
        : of_{of}, how_{how}, log_{log}, reported_lost_(of.nodes()) {}

    /// Reports each lost node once, and its return once. To be called by one thread.
    void report_changes();

private:
    const cluster::node& of_;
    const cluster::node_options& how_;
    const operator_log log_;
    std::vector<bool> reported_lost_;
};

}  // namespace tutti::tools
