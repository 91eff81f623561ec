// Tells an operator that other nodes of a cluster are lost, and when they are back.
#pragma once

#include <string>
#include <vector>

#include <tutti/cluster/node.hpp>

#include "messages.hpp"

namespace tutti::tools {

class node_watch {
public:
    /// `of` and `how`, the options that it was made with, must outlive this object.
    node_watch(const cluster::node& of, const cluster::node_options& how, const messages& operators)
        : of_{of}, how_{how}, operators_{operators}, told_(of.nodes()) {}

    /// Reports each lost node once, and its return once. To be called by one thread.
    void look();

private:
    const cluster::node& of_;
    const cluster::node_options& how_;
    const messages operators_;
    std::vector<bool> told_;
};

}  // namespace tutti::tools
