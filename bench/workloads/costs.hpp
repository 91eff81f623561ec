// The cost of small blocks: empty, one read, one read and one write, and a long sum. The blocks use the thread's own
// data on separate cache lines, or one variable for all. Also ten updates of words far apart.
#pragma once

#include <benchmark/benchmark.h>

#include <memory>
#include <string>
#include <string_view>

#include "harness/cases.hpp"
#include "harness/random.hpp"
#include "harness/worker.hpp"
#include "harness/worker_group.hpp"

namespace bench {

template <class E>
struct cost_data {
    using cell = typename E::template cell<long>;
    struct alignas(128) slot {
        cell value{0L};
    };

    static constexpr unsigned summands = 1024;

    explicit cost_data(unsigned threads) : slots(threads) {
        for (cell& v : values) {
            E::update([&v](auto& c) { v.set(c, 1); });
        }
    }

    std::vector<slot> slots;
    cell values[summands];
};

/// Runs `operation(worker, cell, cost_data)` repeatedly, on a cell for each thread or on one for all. Bodies are
/// counted only if other threads can restart them.
template <class E, bool Private, class Operation>
outcome run_cost(const plan& how, const Operation& operation) {
    cost_data<E> data{how.threads};
    outcome result = timed_round(how, [&](unsigned index, const stop_flag& stop) {
        auto& cell = data.slots[Private ? index : 0].value;
        worker<E> w;
        thread_result done;
        done.operations = repeat(stop, [&] { operation(w, cell, data); });
        done.bodies = w.bodies();
        return done;
    });
    for (const auto& slot : data.slots) result.invariant_sum += slot.value.load();
    return result;
}

template <class E, bool Private>
outcome run_read_write(const plan& how) {
    outcome result = run_cost<E, Private>(how, []([[maybe_unused]] auto& w, auto& cell, const auto&) {
        const auto increment = [&cell](auto& c) { cell.set(c, cell.get(c) + 1); };
        if constexpr (Private) {
            E::update(increment);
        } else {
            w.update(increment);
        }
        benchmark::ClobberMemory();
    });
    if (result.invariant_sum != static_cast<std::int64_t>(result.operations)) result.broken = "updates were lost";
    return result;
}

template <class E, bool Private>
outcome run_read(const plan& how) {
    return run_cost<E, Private>(how, [](auto&, auto& cell, const auto&) {
        benchmark::DoNotOptimize(E::read([&cell](auto& c) { return cell.get(c); }));
    });
}

/// A read in a block that was not declared read-only.
template <class E>
outcome run_logged_read(const plan& how) {
    return run_cost<E, true>(how, [](auto&, auto& cell, const auto&) {
        benchmark::DoNotOptimize(E::update([&cell](auto& c) { return cell.get(c); }));
    });
}

template <class E>
outcome run_empty(const plan& how) {
    return run_cost<E, true>(how, [](auto&, auto&, const auto&) {
        E::update([](auto&) {});
        benchmark::ClobberMemory();
    });
}

template <class E>
outcome run_sum(const plan& how) {
    return run_cost<E, false>(how, [](auto&, auto&, const auto& data) {
        benchmark::DoNotOptimize(E::read([&data](auto& c) {
            long sum = 0;
            for (const auto& v : data.values) sum += v.get(c);
            return sum;
        }));
    });
}

/// Words that all threads update.
template <class E>
struct scattered_words {
    static constexpr unsigned size = 1U << 14;

    scattered_words() {
        for (auto& w : words) {
            E::update([&w](auto& c) { w.set(c, 0); });
        }
    }

    typename E::template cell<long> words[size];
};

/// Increments ten of the words, far apart, by one each.
template <class E>
outcome run_ten_updates(const plan& how) {
    constexpr unsigned updates = 10;
    const auto data = std::make_unique<scattered_words<E>>();
    scattered_words<E>& all = *data;
    outcome result = timed_round(how, [&all](unsigned index, const stop_flag& stop) {
        worker<E> w;
        random_numbers random{index + 2};
        thread_result done;
        done.operations = repeat(stop, [&] {
            const unsigned first = below(all.size, random());
            w.update([&all, first](auto& c) {
                for (unsigned i = 0; i != updates; ++i) {
                    auto& word = all.words[(first + i * 1237) & (all.size - 1)];
                    word.set(c, word.get(c) + 1);
                }
            });
        });
        done.bodies = w.bodies();
        return done;
    });
    for (const auto& w : all.words) result.invariant_sum += w.load();
    if (result.invariant_sum != static_cast<std::int64_t>(result.operations * updates))
        result.broken = "updates were lost";
    return result;
}

/// Adds only the reads, for engines whose single accesses are atomic but not their blocks.
template <class E>
void add_read_costs() {
    add_case<E>("costs", "read-private", run_read<E, true>);
    add_case<E>("costs", "read-shared", run_read<E, false>);
    add_case<E>("costs", "sum-1024", run_sum<E>);
}

template <class E>
void add_costs() {
    add_case<E>("costs", "empty", run_empty<E>);
    add_read_costs<E>();
    add_case<E>("costs", "logged-read-private", run_logged_read<E>);
    add_case<E>("costs", "read-write-private", run_read_write<E, true>);
    add_case<E>("costs", "read-write-shared", run_read_write<E, false>);
    add_case<E>("costs", "update-ten", run_ten_updates<E>);
}

}  // namespace bench
