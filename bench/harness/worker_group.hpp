// A timed round: threads start together, repeat their work until a flag stops them, and report what they did.
#pragma once

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

#include "harness/cases.hpp"
#include "harness/processors.hpp"

namespace bench {

using stop_flag = std::atomic<bool>;

/// The results of one thread in a round.
struct thread_result {
    std::uint64_t operations = 0;
    std::uint64_t bodies = 0;        ///< executions of transaction bodies, or 0 if not counted
    std::int64_t invariant_sum = 0;  ///< a sum for the workload's invariant
    std::uint64_t steps = 0;         ///< executions of the parts of a transaction with several parts
};

/// Repeats `operation` until the flag is set. Checks the flag only once in `Between` operations, so that the check
/// costs almost nothing. `Between` is smaller if an operation takes microseconds.
template <unsigned Between = 64, class Operation>
std::uint64_t repeat(const stop_flag& stop, Operation operation) {
    std::uint64_t done = 0;
    while (!stop.load(std::memory_order_relaxed)) {
        for (unsigned i = 0; i < Between; ++i) operation();
        done += Between;
    }
    return done;
}

/// Runs `work(index, stop)`, which returns a thread_result, on a group of threads. The time is from the first thread's
/// start to the last one's end, which is fair to locks whose queue is still served when the flag is set. A single
/// thread is measured by its processor time instead, because only other programs can delay it.
template <class Work>
outcome timed_round(const plan& how, const Work& work) {
    using clock = std::chrono::steady_clock;
    struct alignas(128) member {
        clock::time_point start, end;
        double processor_seconds = 0;
        thread_result done;
    };
    std::vector<member> workers(how.threads);
    stop_flag stop{false};
    double others = -machine_seconds();
    {
        std::barrier ready{static_cast<std::ptrdiff_t>(how.threads) + 1};
        std::vector<std::jthread> threads;
        threads.reserve(how.threads);
        for (unsigned i = 0; i < how.threads; ++i) {
            threads.emplace_back([&, i] {
                ready.arrive_and_wait();
                const auto start = clock::now();
                const double before = thread_seconds();
                const thread_result done = work(i, stop);
                workers[i] = {start, clock::now(), thread_seconds() - before, done};
            });
        }
        ready.arrive_and_wait();
        std::this_thread::sleep_for(how.length);
        stop.store(true, std::memory_order_relaxed);
    }

    others += machine_seconds();

    outcome sum;
    clock::time_point start = clock::time_point::max(), end{};
    for (const member& m : workers) {
        sum.operations += m.done.operations;
        sum.bodies += m.done.bodies;
        sum.invariant_sum += m.done.invariant_sum;
        sum.steps += m.done.steps;
        others -= m.processor_seconds;
        start = std::min(start, m.start);
        end = std::max(end, m.end);
    }
    const double passed = std::chrono::duration<double>(end - start).count();
    sum.seconds = workers.size() == 1 ? workers.front().processor_seconds : passed;
    sum.disturbed = std::clamp(others / passed / std::thread::hardware_concurrency(), 0.0, 1.0);
    return sum;
}

}  // namespace bench
