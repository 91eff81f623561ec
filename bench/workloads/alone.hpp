// Blocks that run alone for a while, because they do something irreversible or without barriers, like old programs
// without annotations. Only for engines of the language, and for translation units built with -fgnu-tm.
//
//   every           each block does so, with 0.2 us of computing before the next
//   tenth           one in ten; the others move money between accounts
//   server          a table of items as in a cache server: nine requests in ten look one up, one stores one, and one in
//                   twenty makes such a call in the middle of its block, after its look-up
//   map             `synchronized` around a std::map
#pragma once

#include <benchmark/benchmark.h>

#include <chrono>
#include <map>
#include <memory>
#include <string_view>

#include "harness/cases.hpp"
#include "harness/computing.hpp"
#include "harness/random.hpp"
#include "harness/worker_group.hpp"

namespace bench {

/// The compiler knows nothing about this function, so a block that calls it runs alone from there on.
[[gnu::noinline, transaction_unsafe]] inline void unsafe_call(long& counted) {
    long c = counted;
    benchmark::DoNotOptimize(c);
    counted = c + 1;
}

struct shared_number {
    alignas(128) long value = 0;
};

inline std::uint64_t turns_between() {
    static const std::uint64_t turns = turns_of(std::chrono::nanoseconds{200});
    return turns;
}

template <class E>
outcome run_alone_in_every(const plan& how) {
    const std::uint64_t turns = turns_between();
    shared_number n;
    outcome result = timed_round(how, [&](unsigned, const stop_flag& stop) {
        thread_result done;
        done.operations = repeat<16>(stop, [&] {
            // clang-format off
            __transaction_relaxed { unsafe_call(n.value); }
            // clang-format on
            compute(turns);
        });
        return done;
    });
    if (n.value != static_cast<long>(result.operations)) result.broken = "additions were lost";
    return result;
}

struct accounts {
    static constexpr unsigned size = 1024;
    long balance[size] = {};
    shared_number calls;
};

template <class E>
outcome run_alone_in_a_tenth(const plan& how) {
    const std::uint64_t turns = turns_between();
    const auto data = std::make_unique<accounts>();
    accounts& all = *data;
    outcome result = timed_round(how, [&](unsigned index, const stop_flag& stop) {
        random_numbers random{index + 2};
        thread_result done;
        unsigned number = index;
        done.operations = repeat<20>(stop, [&] {
            const unsigned from = below(all.size, random()), to = below(all.size, random());
            // clang-format off
            if (++number % 10 == 0) {
                __transaction_relaxed { unsafe_call(all.calls.value); }
            } else {
                __transaction_atomic { --all.balance[from]; ++all.balance[to]; }
            }
            // clang-format on
            compute(turns);
        });
        return done;
    });
    long sum = 0;
    for (const long b : all.balance) sum += b;
    if (sum != 0) result.broken = "money was lost";
    return result;
}

struct item_table {
    static constexpr unsigned size = 1U << 14;
    struct item {
        long key, uses, value[2];
    };
    item items[size] = {};
    shared_number stores;
};

/// Reports as a server does: rarely, and only after it knows the values to report.
inline void serve(item_table& all, unsigned at, bool stores, bool reports) {
    // clang-format off
    __transaction_relaxed {
        item_table::item& i = all.items[at];
        ++i.uses;
        if (stores) {
            i.value[0] += 1;
            i.value[1] -= 1;
        }
        if (reports && i.value[0] + i.value[1] == 0) unsafe_call(all.stores.value);
    }
    // clang-format on
}

template <class E>
outcome run_server(const plan& how) {
    const std::uint64_t turns = turns_between();
    const auto data = std::make_unique<item_table>();
    item_table& all = *data;
    outcome result = timed_round(how, [&](unsigned index, const stop_flag& stop) {
        random_numbers random{index + 2};
        thread_result done;
        unsigned number = 7 * index;
        done.operations = repeat<20>(stop, [&] {
            ++number;
            serve(all, below(all.size, random()), number % 10 == 0, number % 20 == 0);
            compute(turns);
        });
        return done;
    });
    std::uint64_t uses = 0;
    for (const auto& i : all.items) uses += static_cast<std::uint64_t>(i.uses);
    if (uses != result.operations) result.broken = "requests were lost";
    return result;
}

template <class E>
outcome run_synchronized_map(const plan& how) {
    const auto data = std::make_unique<std::map<int, long>>();
    auto& map = *data;
    constexpr unsigned keys = 256;
    outcome result = timed_round(how, [&](unsigned index, const stop_flag& stop) {
        random_numbers random{index + 2};
        thread_result done;
        done.operations = repeat<16>(stop, [&] {
            const int k = static_cast<int>(below(keys, random()));
            synchronized { ++map[k]; }
        });
        return done;
    });
    std::uint64_t sum = 0;
    for (const auto& [k, n] : map) sum += static_cast<std::uint64_t>(n);
    if (sum != result.operations) result.broken = "additions were lost";
    return result;
}

template <class E>
void add_alone() {
    add_case<E>("alone", "every", run_alone_in_every<E>);
    add_case<E>("alone", "tenth", run_alone_in_a_tenth<E>);
    add_case<E>("alone", "server", run_server<E>);
    add_case<E>("alone", "map", run_synchronized_map<E>);
}

}  // namespace bench
