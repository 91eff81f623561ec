// A red-black tree whose nodes come from malloc inside of blocks and go back to free (paper 004, VI, figure 5).
#pragma once

#include <cstdio>
#include <string>

#include "engines/plain.hpp"
#include "workloads/sets.hpp"

namespace bench {

/// Blocks of `Engine` of streams.hpp, and the tree's fields without more ado. One stream stands for all of them, where
/// the engine wants one to lock.
template <class Engine>
struct blocks_of : plain_engine {
    static constexpr const char* name = Engine::name;

    template <class Body>
    static auto read(Body body) {
        context c;
        return Engine::run(stdout, [&c, body] { return body(c); });
    }
    template <class Body>
    static auto update(Body body) {
        return read(body);
    }
};

template <class Engine>
void add_allocating_trees(std::string_view family) {
    for (const unsigned percent : {20U, 100U}) {
        add_case<blocks_of<Engine>>(family, "tree-malloc-" + std::to_string(percent), [percent](const plan& how) {
            return run_set<blocks_of<Engine>, red_black_tree>(how, 64 * 1024, percent);
        });
    }
}

}  // namespace bench
