#include "preempt/thread_locals.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <vector>

#include "base/clock.hpp"
#include "preempt/procedures.hpp"
#include "preempt/scheduler.hpp"

namespace tutti_bench {
namespace {

using tutti::preempt::scheduler;
using tutti::preempt::work;

struct nanoseconds_of {
    double call = 0;          // submitted with many others, run, and ended
    double interruption = 0;  // submitted by the work that it interrupts, run, and back
};

scheduler* current = nullptr;

void hand_in_something_urgent() { static_cast<void>(current->submit({run_nothing, nullptr, 5})); }

nanoseconds_of measure(bool shared) {
    constexpr std::size_t together = 512, batches = 40;
    constexpr std::uint64_t times = 10'000;
    scheduler s{{.workers = 1, .shared_thread_locals = shared}};
    s.application().add_object_of(reinterpret_cast<const void*>(&run_long));
    current = &s;
    std::vector<work> calls(together, work{run_nothing, nullptr, 1});
    const std::uint64_t begin = tutti::base::ticks();
    for (std::size_t i = 0; i < batches; ++i) {
        static_cast<void>(s.submit(calls));
        s.drain();
    }
    const std::uint64_t end = tutti::base::ticks();
    interrupted low{.times = times, .interrupt = hand_in_something_urgent};
    static_cast<void>(s.submit({run_interrupted, &low, 1}));
    s.drain();
    const double tick = tutti::base::nanoseconds_per_tick();
    return {static_cast<double>(end - begin) * tick / (together * batches),
            static_cast<double>(low.ticks) * tick / times};
}

}  // namespace

void measure_thread_locals() {
    // The minimum of many runs, which excludes disturbances. In turns.
    std::array<nanoseconds_of, 2> least{nanoseconds_of{1e9, 1e9}, nanoseconds_of{1e9, 1e9}};
    for (int turn = 0; turn < 15; ++turn) {
        for (const bool shared : {true, false}) {
            const nanoseconds_of now = measure(shared);
            nanoseconds_of& l = least[shared ? 0 : 1];
            l = {std::min(l.call, now.call), std::min(l.interruption, now.interruption)};
        }
    }
    const auto& [shared, own] = least;
    std::printf("\nThread-local storage, one worker, nanoseconds: the least of 15 runs in turns\n");
    std::printf("%-26s %9s %13s\n", "", "call", "interruption");
    std::printf("%-26s %9.0f %13.0f\n", "of the worker", shared.call, shared.interruption);
    std::printf("%-26s %9.0f %13.0f\n", "of each context", own.call, own.interruption);
    std::printf("%-26s %9.3f %13.3f\n", "ratio", own.call / shared.call, own.interruption / shared.interruption);
}

}  // namespace tutti_bench
