// The operations that a transaction makes one after the other, and what they are to each other. HyflowCPP's inner
// transactions, sections 6.3 and 6.4.
#pragma once

#include <cstddef>

#include <tutti/tutti.hpp>

#include "cluster/workload.hpp"

namespace cluster_app {

/// step(t, i) for each i from `first` to `count`. A step that is open makes itself so.
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
