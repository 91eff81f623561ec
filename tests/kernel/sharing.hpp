// Measures how threads share a processor, and their times.
#pragma once

#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <ctime>
#include <thread>

namespace kernel_test {

using moment = std::chrono::steady_clock::time_point;
inline moment now() { return std::chrono::steady_clock::now(); }

/// Returns the calling thread's clock, for other threads to read.
inline clockid_t cpu_clock() {
    clockid_t id = 0;
    EXPECT_EQ(::pthread_getcpuclockid(::pthread_self(), &id), 0);
    return id;
}
inline std::chrono::nanoseconds time_of(clockid_t clock) {
    timespec t{};
    ::clock_gettime(clock, &t);
    return std::chrono::seconds{t.tv_sec} + std::chrono::nanoseconds{t.tv_nsec};
}

/// Returns how often the kernel has preempted the calling thread.
inline long turns_ended() {
    rusage used{};
    ::getrusage(RUSAGE_THREAD, &used);
    return used.ru_nivcsw;
}

/// Call this while spinning: QEMU lets one processor run until it pauses, or until its next timer.
inline void relax() {
    for (int i = 0; i < 1000; ++i) asm volatile("");
    asm volatile("pause");
}

inline void spin(const std::atomic<bool>& stop) {
    while (!stop) relax();
}

inline void pin_to(int cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    ASSERT_EQ(::sched_setaffinity(0, sizeof set, &set), 0);
}

/// Lets `first` and `second`, which run until they are stopped, share processor 0 for a while. Returns the fraction of
/// their processor time that `first` took.
template <class A, class B>
double share(std::chrono::milliseconds during, A first, B second) {
    std::atomic<bool> stop{false};
    std::atomic<int> ready{0};
    std::chrono::nanoseconds took[2]{};
    const auto run = [&](int who, auto& part) {
        pin_to(0);
        ++ready;
        while (ready < 2) relax();
        const auto before = time_of(cpu_clock());
        part(stop);
        took[who] = time_of(cpu_clock()) - before;
    };
    std::thread a{[&] { run(0, first); }}, b{[&] { run(1, second); }};
    std::this_thread::sleep_for(during);
    stop = true;
    a.join();
    b.join();
    return static_cast<double>(took[0].count()) / static_cast<double>((took[0] + took[1]).count());
}

}  // namespace kernel_test
