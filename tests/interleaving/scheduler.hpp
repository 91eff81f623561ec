// Runs the threads of one execution as fibers, and asks a strategy at every shared access which one goes on.
//
// The engine calls the hooks of `tutti/detail/shared.hpp` and `base/futex.hpp`, which are defined here. Outside an
// execution they do nothing.
//
// Sequentially consistent: an access takes effect when its thread goes on after the point before it.
//
// Fairness. A thread that spins does not go on before another thread has made a step, nor before those that could have
// gone on all through its last two spins but did not (Musuvathi & Qadeer, "Fair Stateless Model Checking", PLDI 2008).
// So a loop that waits for another thread cannot be unrolled for ever, and every exploration ends.
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
    runaway,   ///< `max_points` were passed: the threads keep each other busy for ever
};

struct execution {
    ending end = ending::complete;
    std::uint32_t points = 0;
    schedule decisions;  ///< replays it
    thread_set unfinished = 0;
    thread_set asleep = 0;
    unsigned forced_timeouts = 0;  ///< times that only a time limit kept all threads from sleeping for ever
};

struct threads_of_execution;

class scheduler {
public:
    static constexpr int max_threads = 8;
    static constexpr std::uint32_t max_points = 20'000;

    scheduler();
    ~scheduler();

    /// Runs the bodies until all have returned or none can go on. An exception that leaves a body terminates.
    ///
    /// After any ending but `complete` the bodies' stacks are abandoned with all they hold: nothing that they shared,
    /// the engine included, can be used again in this process.
    execution run(std::span<const std::function<void()>> bodies, strategy& how);

    /// What the engine takes for the time. Stands still but for time limits that run out, and threads that advance it.
    static tutti::base::driven_clock& clock() noexcept;
    /// The thread that runs, or -1 outside an execution.
    static int running() noexcept;
    /// The chances to switch that this execution has passed.
    static std::uint32_t point() noexcept;
    /// What was decided so far in this execution: for the last words of a crashing program.
    static schedule decisions();

    /// Told of every switch, on the stack of the thread that stops; null: none is told. `where` is the address in the
    /// engine that the thread stops at.
    using observer = void (*)(void* context, int from, int to, const void* where);
    void observe(observer o, void* context) noexcept;

private:
    std::unique_ptr<threads_of_execution> state_;
};

}  // namespace interleaving
