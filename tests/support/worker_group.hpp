// Threads that start together and are all joined.
#pragma once

#include <cstdio>
#include <exception>
#include <latch>
#include <mutex>
#include <thread>
#include <vector>

namespace tutti::support {

/// Runs `part(i)` for i in [0, size) on as many threads, which start together. Returns when all have ended, and
/// rethrows the first exception that left a thread, so that the test reports it.
template <class F>
void run_threads(unsigned size, F part) {
    std::latch together{static_cast<std::ptrdiff_t>(size)};
    std::mutex guard;
    std::exception_ptr first;
    const auto keep = [&](std::exception_ptr failure) {
        const std::lock_guard hold{guard};
        if (!first) first = std::move(failure);
    };
    {
        std::vector<std::jthread> threads;
        threads.reserve(size);
        for (unsigned i = 0; i < size; ++i) {
            threads.emplace_back([&, i] {
                together.arrive_and_wait();
                try {
                    part(i);
                } catch (const std::exception& failure) {
                    // Printed immediately: the other threads may wait for this one, and then the exception is never
                    // rethrown.
                    std::fprintf(stderr, "run_threads: thread %u ended by an exception: %s\n", i, failure.what());
                    keep(std::current_exception());
                } catch (...) {
                    std::fprintf(stderr, "run_threads: thread %u ended by an exception\n", i);
                    keep(std::current_exception());
                }
            });
        }
    }
    if (first) std::rethrow_exception(first);
}

}  // namespace tutti::support
