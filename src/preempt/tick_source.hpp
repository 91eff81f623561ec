// The concept `tick source`: what interrupts a worker that is busy, so that it looks at the queue (preemption_check).
//
// A source is an entry of a table, chosen by name. It knows a worker by its `tick_target` and no scheduler. A tick is a
// signal to the worker's thread, or a redirection by the kernel module (kernel_device.hpp); where a source can avoid
// one it raises the pending tick of the context instead, which is looked at wherever a critical region ends.
//
//   event     when                                                on which thread
//   start     before the worker's first context                   the worker's
//   request   something is ready that goes before what runs       any; also in a critical region of the worker's own
//   stop      after its last context                              the worker's
//   enter     a context is about to run                           the worker's
//   again     a redirection has been looked at                    the worker's
//   leave     the context runs no more                            the worker's
//   allow     there is more code that may be interrupted          any
//
// An acknowledgement is `urgent` going back to false: the worker stores that before it takes the lock and looks.
#pragma once

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <ctime>
#include <string_view>

#include "core/state/descriptor.hpp"

struct tutti_entry;  // kernel/uapi.h

namespace tutti::preempt {

class stack;

/// Ignored unless handled, and not queued: a late one does no harm.
inline constexpr int tick_signal = SIGURG;

struct tick_timing {
    std::chrono::nanoseconds period{100'000};  // of a periodic source
    std::chrono::nanoseconds patience{1'000};  // how long the polled flag has before a signal is sent
    // From a tick that came in vain, mostly because it found library code, to the next: twice as long each time, up to
    // a limit. A timer of the kernel that is shorter than the slack of a sleep, 50 us, would restart that sleep without
    // end.
    std::chrono::nanoseconds repetition{20'000};
    std::chrono::nanoseconds most_patient{2'000'000};
};

struct tick_target {
    tick_timing timing;
    int thread = 0;
    timer_t timer{};
    std::chrono::nanoseconds interval{0};       // from each tick of the timer to the next; 0: one at a time
    std::chrono::nanoseconds backed_off_to{0};  // while ticks find library code; 0: the latest has not
    tutti_entry* kernel = nullptr;              // which the module shares with the worker, if its ticks come from there
    unsigned kernel_number = 0;
    std::uint64_t kernel_stood = 0;  // of its ticks, once it has stopped
    std::atomic<bool> urgent{false};
    std::atomic<core::descriptor*> running{nullptr};  // of the context that runs; null between two
};

struct tick_source {
    std::string_view name;
    std::string_view summary;
    /// Whether contexts are preempted at all: without that they need no critical regions.
    bool preempts;
    void (*start)(tick_target& t);
    void (*request)(tick_target& t) noexcept;
    void (*stop)(tick_target& t) noexcept;
    // Null, all of them: the source need not know.
    void (*enter)(tick_target& t, core::descriptor& d, const stack& on) noexcept = nullptr;
    void (*again)(tick_target& t) noexcept = nullptr;
    void (*leave)(tick_target& t) noexcept = nullptr;
    void (*allow)(std::uintptr_t begin, std::uintptr_t end) noexcept = nullptr;
    /// How often a tick found code that may not be interrupted without the worker's hearing of it. From any thread.
    std::uint64_t (*stood)(const tick_target& t) noexcept = nullptr;
};

/// The source of that name. `automatic` is the best that can be had, and `kernel` is on-demand where it cannot, with a
/// line on standard error that says why. Throws std::invalid_argument if there is none of that name.
[[nodiscard]] const tick_source& choose_tick_source(std::string_view name);

// --- what sources are made of

/// The timer of the calling thread, a worker. Throws std::system_error.
void make_timer(tick_target& t);
void delete_timer(tick_target& t) noexcept;
/// Raises the flag that is polled where critical regions end. False: it is seen at once, or another caller that raised
/// it and was not answered has sent a tick, which repeats itself until it is served.
[[nodiscard]] bool goes_unseen(tick_target& t) noexcept;

/// The signal, now.
void send_tick(const tick_target& t) noexcept;
/// The next tick of the worker's timer comes after that time, in place of the one that it was set to, and others after
/// it at the timer's interval. Async-signal-safe.
void tick_after(tick_target& t, std::chrono::nanoseconds time) noexcept;

/// How long after a tick that came in vain, if it came now, the next one would come.
[[nodiscard]] std::chrono::nanoseconds next_pause(const tick_target& t) noexcept;
/// After a tick that came in vain: the next one comes later than after the one before, and so do those of the
/// timer's interval. Async-signal-safe.
void back_off(tick_target& t) noexcept;
/// After a tick that found application code, or another context: what follows is as if there had been no such tick.
void end_back_off(tick_target& t) noexcept;

}  // namespace tutti::preempt
