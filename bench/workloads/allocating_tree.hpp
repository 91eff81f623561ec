// A red-black tree whose nodes are allocated by malloc in blocks and freed again (paper 004, VI, figure 5).
#pragma once

#include <cstdio>
#include <string>

#include "engines/plain.hpp"
#include "workloads/sets.hpp"

namespace bench {

/// Blocks of `Engine` in streams.hpp, and plain fields for the tree. If the engine locks a stream, one stream stands
/// for the whole tree.
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
