// Who tells an operator that other nodes of a cluster are lost, and back.
#pragma once

#include <string>
#include <vector>

#include <tutti/cluster/node.hpp>

#include "messages.hpp"

namespace tutti::tools {

class node_watch {
public:
    /// `of` and `how`, what it was made of, live as long.
    node_watch(const cluster::node& of, const cluster::node_options& how, const messages& operators)
        : of_{of}, how_{how}, operators_{operators}, told_(of.nodes()) {}

    /// Says once of each other node that it is lost, and once that it is back. One thread asks.
    void look();

private:
    const cluster::node& of_;
    const cluster::node_options& how_;
    const messages operators_;
    std::vector<bool> told_;
};

}  // namespace tutti::tools
