// Runs the threads of one execution as fibers. At every shared access, asks a strategy which thread continues.
//
// The engine calls the hooks of `tutti/detail/shared.hpp` and `base/futex.hpp`, which are defined here. Outside an
// execution they do nothing.
//
// Sequentially consistent: an access takes effect when its thread continues after the point before it.
//
// Fairness: a thread that spins continues only after another thread has made a step. It also waits for the threads that
// could have continued during its last two spins, but did not (Musuvathi & Qadeer, "Fair Stateless Model Checking",
// PLDI 2008). A loop that waits for another thread is therefore finite in every schedule, and every exploration ends.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>

#include "base/clock.hpp"
#include "fiber.hpp"
#include "schedule.hpp"

namespace interleaving {

enum class ending : std::uint8_t {
    complete,  ///< every thread has returned
    deadlock,  ///< every thread that has not returned sleeps without a time limit
    runaway,   ///< `max_points` were passed: the threads keep each other busy forever
};

struct execution {
    ending end = ending::complete;
    std::uint32_t points = 0;
    schedule decisions;  ///< replays the execution
    thread_set unfinished = 0;
    thread_set asleep = 0;
    unsigned forced_timeouts = 0;  ///< number of times when only a time limit woke any thread
};

struct threads_of_execution;

class scheduler {
public:
    static constexpr int max_threads = 8;
    static constexpr std::uint32_t max_points = 20'000;

    scheduler();
    ~scheduler();

    /// Runs the bodies until all have returned or none can continue. An exception that leaves a body terminates.
    ///
    /// After any ending except `complete`, the bodies' stacks are abandoned with their objects. The state that they
    /// shared, including the engine, is unusable in this process from then on.
    execution run(std::span<const std::function<void()>> bodies, strategy& how);

    /// Returns the engine's clock. It advances only when time limits expire or threads advance it.
    static tutti::base::manual_clock& clock() noexcept;
    /// Returns the running thread, or -1 outside an execution.
    static int running() noexcept;
    /// Returns the number of switch points that this execution has passed.
    static std::uint32_t point() noexcept;
    /// Returns the decisions of this execution so far, for a crash report.
    static schedule decisions();

    /// A callback for every switch, which runs on the stack of the stopping thread; null disables it. `where` is the
    /// address in the engine at which the thread stops.
    using observer = void (*)(void* context, int from, int to, const void* where);
    void observe(observer o, void* context) noexcept;

private:
    std::unique_ptr<threads_of_execution> state_;
};

}  // namespace interleaving
