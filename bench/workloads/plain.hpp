// Plain memory, which blocks may make private: the cost of using it directly afterwards. The engines with `var` are
// measured in another process, which uses no plain memory and so never waits for quiescence.
#pragma once

#include "workloads/bank.hpp"
#include "workloads/costs.hpp"

namespace bench {

template <class E>
void add_plain() {
    add_case<E>("plain", "read-private", run_read<E, true>);
    add_case<E>("plain", "read-write-private", run_read_write<E, true>);
    add_bank<E>("plain");
}

}  // namespace bench
