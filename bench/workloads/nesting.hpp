// The cost of a block inside a block.
#pragma once

#include "workloads/costs.hpp"

namespace bench {

template <class E>
void add_nesting() {
    add_case<E>("nesting-costs", "empty", run_empty<E>);
    add_case<E>("nesting-costs", "read-write-private", run_read_write<E, true>);
}

}  // namespace bench
