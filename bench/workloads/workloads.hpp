// The workloads that every engine runs.
#pragma once

#include "workloads/bank.hpp"
#include "workloads/costs.hpp"
#include "workloads/sets.hpp"

namespace bench {

template <class E>
bool add_all() {
    add_sets<E>();
    add_bank<E>();
    add_costs<E>();
    return true;
}

}  // namespace bench
