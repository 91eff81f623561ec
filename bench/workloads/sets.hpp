// Integer sets: look-ups and updates. Half of the updates insert and the other half remove, so that half of the keys
// stay in the set. This workload is the benchmark of Herlihy, Luchangco, Moir and Scherer, PODC 2003, and of most STM
// papers since.
#pragma once

#include <benchmark/benchmark.h>

#include <memory>
#include <string>

#include "harness/cases.hpp"
#include "harness/random.hpp"
#include "harness/worker.hpp"
#include "harness/worker_group.hpp"
#include "structures/hash_set.hpp"
#include "structures/red_black_tree.hpp"
#include "structures/sorted_list.hpp"

namespace bench {

template <class E, class Set>
long fill_half(Set& set, unsigned keys) {
    random_numbers random{1};
    long size = 0;
    while (size < static_cast<long>(keys / 2)) {
        const long key = below(keys, random());
        size += E::update([&set, key](auto& c) { return set.insert(c, key); });
    }
    return size;
}

/// Runs one thread's part. The invariant sum is the growth of the set.
template <class E, class Set>
thread_result work_on_set(Set& set, unsigned keys, unsigned update_percent, unsigned index, const stop_flag& stop) {
    worker<E> w;
    random_numbers random{index + 2};
    long found = 0;
    thread_result done;
    done.operations = repeat(stop, [&] {
        const std::uint64_t bits = random();
        const long key = below(keys, bits);
        const unsigned chance = below(200, bits >> 32);
        if (chance >= 2 * update_percent) {
            found += w.read([&set, key](auto& c) { return set.contains(c, key); });
        } else if (chance % 2 == 0) {
            done.invariant_sum += w.update([&set, key](auto& c) { return set.insert(c, key); });
        } else {
            done.invariant_sum -= w.update([&set, key](auto& c) { return set.remove(c, key); });
        }
    });
    benchmark::DoNotOptimize(found);
    done.bodies = w.bodies();
    return done;
}

template <class E, template <class> class Set>
outcome run_set(const plan& how, unsigned keys, unsigned update_percent) {
    const auto owner = std::make_unique<Set<E>>();
    Set<E>& set = *owner;
    const long size = fill_half<E>(set, keys);
    outcome result = timed_round(how, [&](unsigned index, const stop_flag& stop) {
        return work_on_set<E>(set, keys, update_percent, index, stop);
    });
    const long left = set.check();
    if (left < 0) {
        result.broken = "the structure is broken";
    } else if (left != size + result.invariant_sum) {
        result.broken =
            std::to_string(size + result.invariant_sum) + " keys should be left, but there are " + std::to_string(left);
    }
    set.clear();
    return result;
}

template <class E>
void add_sets() {
    for (const unsigned percent : {0U, 20U, 100U}) {
        add_case<E>("sets", "tree-64k-" + std::to_string(percent),
                    [percent](const plan& how) { return run_set<E, red_black_tree>(how, 64 * 1024, percent); });
    }
    for (const unsigned percent : {0U, 20U, 100U}) {
        add_case<E>("sets", "tree-1k-" + std::to_string(percent),
                    [percent](const plan& how) { return run_set<E, red_black_tree>(how, 1024, percent); });
    }
    add_case<E>("sets", "list-256-20", [](const plan& how) { return run_set<E, sorted_list>(how, 512, 20); });
    add_case<E>("sets", "hash-16k-20", [](const plan& how) { return run_set<E, hash_set>(how, 32 * 1024, 20); });
}

}  // namespace bench
