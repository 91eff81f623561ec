// Threads of HyflowCPP programs, each on a node of its own.
#pragma once

#include <memory>
#include <thread>
#include <vector>

#include <tutti/cluster/hyflow.hpp>

#include "cluster/nodes.hpp"

namespace hyflow_test {

/// Calls f(thread number) on `count` threads, which use the nodes in turn.
template <class F>
void on_threads(const std::vector<std::unique_ptr<tutti::cluster::node>>& nodes, unsigned count, F f) {
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < count; ++i) {
        threads.emplace_back([&, i] {
            const tutti::cluster::hyflow::thread_on here{*nodes[i % nodes.size()]};
            f(i);
        });
    }
    for (std::thread& t : threads) t.join();
}

/// Calls f() on another thread, which uses node `there`, while a block runs.
template <class F>
void meanwhile(tutti::cluster::node& there, F f) {
    std::thread{[&] {
        const tutti::cluster::hyflow::thread_on here{there};
        f();
    }}.join();
}

}  // namespace hyflow_test
