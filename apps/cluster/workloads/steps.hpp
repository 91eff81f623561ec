// The operations of a transaction, one after the other, and their nesting. HyflowCPP's inner transactions, sections 6.3
// and 6.4.
#pragma once

#include <cstddef>

#include <tutti/tutti.hpp>

#include "cluster/workload.hpp"

namespace cluster_app {

/// Calls step(t, i) for each i from `first` to `count`, excluding `count`. An open step nests itself.
template <class Step>
void run_steps(tutti::tx& t, nesting how, std::size_t count, const Step& step, std::size_t first = 0) {
    if (how == nesting::checkpoint && first < count) {
        checkpoint(t, [&](tutti::tx& from_here) {
            step(from_here, first);
            run_steps(from_here, how, count, step, first + 1);
        });
        return;
    }
    for (std::size_t i = first; i < count; ++i) {
        if (how == nesting::closed) tutti::atomically([&](tutti::tx& inner) { step(inner, i); });
        else step(t, i);
    }
}

}  // namespace cluster_app
