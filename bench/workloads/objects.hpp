// Two of 1,024 accounts, each an object of a cluster that consists of this process, or a variable: a transfer between
// them, and a read of both.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "harness/cases.hpp"
#include "harness/random.hpp"
#include "harness/worker_group.hpp"

namespace bench {

/// Repeats `work(bank, from, to)`.
template <class E, class Work>
outcome run_over_two_accounts(const plan& how, Work work) {
    constexpr unsigned size = 1024;
    typename E::bank bank{size};
    outcome result = timed_round(how, [&](unsigned index, const stop_flag& stop) {
        random_numbers random{index + 2};
        thread_result done;
        done.operations = repeat(stop, [&] {
            const std::uint64_t bits = random();
            work(bank, bits >> 32 & (size - 1), bits >> 48 & (size - 1));
        });
        return done;
    });
    long sum = 0;
    for (unsigned i = 0; i < size; ++i) sum += bank.sum_of_two(i, i) / 2;
    if (sum != 0) result.broken = "money was lost: " + std::to_string(sum);
    return result;
}

template <class E>
void add_objects() {
    add_case<E>("objects", "transfer", [](const plan& how) {
        return run_over_two_accounts<E>(how, [](auto& b, unsigned from, unsigned to) { b.transfer(from, to); });
    });
    add_case<E>("objects", "look", [](const plan& how) {
        return run_over_two_accounts<E>(how, [](auto& b, unsigned one, unsigned other) { b.sum_of_two(one, other); });
    });
}

}  // namespace bench
