// Starts nodes of one cluster in this process.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <tutti/cluster/node.hpp>

#include "cluster/fresh_address.hpp"

namespace tutti::cluster::testing {

struct account {
    long balance = 0;
};

/// Returns the error of a node that cannot join, or an empty string if the node joins.
inline std::string error_of(const node_options& how) {
    try {
        const node n{how};
    } catch (const connection_error& e) {
        return e.what();
    }
    return {};
}

/// Starts `count` nodes over Unix sockets.
inline std::vector<std::unique_ptr<node>> start_nodes(unsigned count, placement where,
                                                      std::chrono::milliseconds failure_timeout = std::chrono::seconds{
                                                          30}) {
    static std::atomic<unsigned> clusters{0};
    const std::string prefix = std::to_string(clusters.fetch_add(1)) + "-";
    node_options how;
    for (unsigned i = 0; i < count; ++i) how.addresses.push_back(fresh_address(prefix + std::to_string(i)));
    how.placement = where;
    how.failure_timeout = failure_timeout;
    std::vector<std::unique_ptr<node>> nodes(count);
    std::vector<std::thread> starters;
    for (unsigned i = 0; i < count; ++i) {
        starters.emplace_back([&, i] {
            node_options mine = how;
            mine.node_number = i;
            nodes[i] = std::make_unique<node>(mine);
        });
    }
    for (std::thread& t : starters) t.join();
    return nodes;
}

}  // namespace tutti::cluster::testing
