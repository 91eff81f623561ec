// The workloads that every engine runs.
#pragma once

#include "workloads/bank.hpp"
#include "workloads/costs.hpp"
#include "workloads/sets.hpp"

namespace bench {

template <class E>
void add_standard() {
    add_sets<E>();
    add_bank<E>("bank");
    add_costs<E>();
}

}  // namespace bench
