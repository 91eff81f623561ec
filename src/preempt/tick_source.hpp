// The concept `tick source`: it interrupts a busy worker, so that the worker checks the queue (preemption_check).
//
// A source is an entry of a table, chosen by name. It knows a worker only by its `tick_target`. A tick is a signal to
// the worker's thread, or a redirection by the kernel module (kernel_device.hpp). If a source can avoid a tick, it
// raises the pending tick of the context instead, which is checked wherever a critical region ends.
//
//   event     when                                                on which thread
//   start     before the worker's first context                   the worker's
//   request   a ready context goes before the running one         any; also in a critical region of the worker's own
//   stop      after its last context                              the worker's
//   enter     a context is about to run                           the worker's
//   rearm     a redirection has been handled                      the worker's
//   leave     the context does not run any more                   the worker's
//   allow     more code may be interrupted                        any
//
// A worker acknowledges a tick by storing false to `urgent`, before it takes the lock and checks the queue.
#pragma once

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <ctime>
#include <string_view>

#include "core/state/descriptor.hpp"

struct tutti_tick_entry;  // kernel/uapi.h

namespace tutti::preempt {

class stack;

/// A signal that is ignored by default and not queued, so a late one does no harm.
inline constexpr int tick_signal = SIGURG;

struct tick_timing {
    std::chrono::nanoseconds period{100'000};      // of a periodic source
    std::chrono::nanoseconds flag_timeout{1'000};  // how long the polled flag may stay unseen before a signal is sent
    // The time from a tick without effect to the next one. A tick without effect usually found library code. The time
    // doubles with each such tick, up to a limit. A kernel timer that is shorter than the slack of a sleep, 50 us,
    // would restart that sleep without end.
    std::chrono::nanoseconds retry_pause{20'000};
    std::chrono::nanoseconds max_retry_pause{2'000'000};
};

struct tick_target {
    tick_timing timing;
    int thread = 0;
    timer_t timer{};
    std::chrono::nanoseconds interval{0};  // between ticks of the timer; 0: single ticks
    // current pause while ticks find library code; 0: the latest tick did not
    std::chrono::nanoseconds current_pause{0};
    // shared with the kernel module, if the ticks come from the module
    tutti_tick_entry* kernel = nullptr;
    unsigned kernel_number = 0;
    std::uint64_t kernel_deferred = 0;  // count of its ticks, after it has stopped
    std::atomic<bool> urgent{false};
    std::atomic<core::descriptor*> running{nullptr};  // descriptor of the running context; null between two contexts
};

struct tick_source {
    std::string_view name;
    std::string_view summary;
    /// True if the source preempts contexts. Otherwise they need no critical regions.
    bool preempts;
    void (*start)(tick_target& t);
    void (*request)(tick_target& t) noexcept;
    void (*stop)(tick_target& t) noexcept;
    // All of these may be null: the source does not need the event.
    void (*enter)(tick_target& t, core::descriptor& d, const stack& on) noexcept = nullptr;
    void (*rearm)(tick_target& t) noexcept = nullptr;
    void (*leave)(tick_target& t) noexcept = nullptr;
    void (*allow)(std::uintptr_t begin, std::uintptr_t end) noexcept = nullptr;
    /// Returns how often a tick found code that may not be interrupted, without the worker's knowledge. Any thread may
    /// call it.
    std::uint64_t (*deferred)(const tick_target& t) noexcept = nullptr;
};

/// Returns the source of that name. `automatic` is the best available one. `kernel` falls back to on-demand if it is
/// not available, with a line on standard error that says why. Throws std::invalid_argument for an unknown name.
[[nodiscard]] const tick_source& choose_tick_source(std::string_view name);

// --- building blocks of sources

/// Makes the timer of the calling thread, a worker. Throws std::system_error.
void make_timer(tick_target& t);
void delete_timer(tick_target& t) noexcept;
/// Raises the flag that is polled where critical regions end. Returns true if the caller must send a tick. Returns
/// false if the worker sees the flag at once. Also returns false if another caller has raised the flag and was not
/// answered. That caller has sent a tick, which repeats until it is served.
[[nodiscard]] bool must_send_tick(tick_target& t) noexcept;

/// Sends the signal now.
void send_tick(const tick_target& t) noexcept;
/// Sets the worker's timer: the next tick comes after `time`, instead of the previous setting, and later ticks follow
/// at the timer's interval. Async-signal-safe.
void tick_after(tick_target& t, std::chrono::nanoseconds time) noexcept;

/// Returns the pause that would follow a tick without effect, if one came now.
[[nodiscard]] std::chrono::nanoseconds next_pause(const tick_target& t) noexcept;
/// Handles a tick without effect: the next tick comes after a longer pause than the one before, and the timer's
/// interval grows, too. Async-signal-safe.
void back_off(tick_target& t) noexcept;
/// Handles a tick that found application code, or a switch to another context: resets the pause.
void end_back_off(tick_target& t) noexcept;

}  // namespace tutti::preempt
