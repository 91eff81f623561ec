// Several nodes in one process.
#pragma once

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <tutti/cluster/node.hpp>

namespace cluster_test {

/// Nodes of one cluster in this process, over Unix sockets.
inline std::vector<std::unique_ptr<tutti::cluster::node>> start_nodes(
    unsigned count, tutti::cluster::placement where, std::chrono::milliseconds patience = std::chrono::seconds{30}) {
    static std::atomic<unsigned> clusters{0};
    const std::string prefix = "unix:" + ::testing::TempDir() + "tutti-" + std::to_string(::getpid()) + "-" +
                               std::to_string(clusters.fetch_add(1)) + "-";
    tutti::cluster::node_options how;
    for (unsigned i = 0; i < count; ++i) how.addresses.push_back(prefix + std::to_string(i));
    how.placement = where;
    how.patience = patience;
    std::vector<std::unique_ptr<tutti::cluster::node>> nodes(count);
    std::vector<std::thread> starters;
    for (unsigned i = 0; i < count; ++i) {
        starters.emplace_back([&, i] {
            tutti::cluster::node_options mine = how;
            mine.self = i;
            nodes[i] = std::make_unique<tutti::cluster::node>(mine);
        });
    }
    for (std::thread& t : starters) t.join();
    return nodes;
}

}  // namespace cluster_test
