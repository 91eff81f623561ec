// All threads add one to the same number, in three ways. Without a pause. With a microsecond of computing in between,
// like a program that also does other work. At the start of a transaction of ten microseconds, which makes a counter a
// point of conflict.
#pragma once

#include <chrono>

#include "harness/cases.hpp"
#include "harness/computing.hpp"
#include "harness/worker_group.hpp"

namespace bench {

template <class E>
outcome run_counting(const plan& how, std::chrono::nanoseconds inside, std::chrono::nanoseconds between) {
    const std::uint64_t inner_turns = turns_of(inside);
    const std::uint64_t turns = turns_of(between);
    alignas(128) typename E::number number;
    outcome result = timed_round(how, [&](unsigned, const stop_flag& stop) {
        thread_result done;
        done.operations = repeat(stop, [&] {
            number.add(done, [inner_turns] { compute(inner_turns); });
            compute(turns);
        });
        return done;
    });
    if (number.load() != static_cast<std::int64_t>(result.operations)) result.broken = "additions were lost";
    return result;
}

template <class E>
void add_counting() {
    using std::chrono::microseconds;
    add_case<E>("counter", "add", [](const plan& how) { return run_counting<E>(how, {}, {}); });
    add_case<E>("counter", "add-and-compute",
                [](const plan& how) { return run_counting<E>(how, {}, microseconds{1}); });
    add_case<E>("counter", "add-within-10us",
                [](const plan& how) { return run_counting<E>(how, microseconds{10}, {}); });
}

}  // namespace bench
