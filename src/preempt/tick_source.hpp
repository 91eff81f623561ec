// A tick source interrupts a busy worker, so that the worker checks the queue (preemption_check).
//
// Each source is an entry of a table, from which the program chooses by name. The source identifies a worker only by
// its `tick_target`. A tick is a signal to the worker's thread, or a redirection by the kernel module
// (kernel_device.hpp). Where a tick is not necessary, the source sets the context's flag `pending tick` instead. The
// context checks this flag wherever a critical region ends.
//
//   event     when                                                on which thread
//   start     before the worker's first context                   the worker's
//   request   a ready context precedes the running one            any; also the worker's, in a critical region
//   stop      after the worker's last context                     the worker's
//   enter     a context is about to run                           the worker's
//   rearm     a redirection has been handled                      the worker's
//   leave     the context does not run any more                   the worker's
//   allow     more code may be interrupted                        any
//
// A worker acknowledges a tick: it stores false to `urgent`, and then acquires the lock and checks the queue.
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

/// The tick signal is ignored by default and not queued, so a late signal does no harm.
inline constexpr int tick_signal = SIGURG;

struct tick_timing {
    std::chrono::nanoseconds period{100'000};      // of a periodic source
    std::chrono::nanoseconds flag_timeout{1'000};  // how long the flag may stay unnoticed before a signal is sent
    // The time between a tick without effect and the next tick. A tick without effect has usually found library code.
    // The time doubles with each such tick, up to a limit. The time must not be shorter than the slack of a sleep, 50
    // us: a shorter kernel timer would restart that sleep without end.
    std::chrono::nanoseconds retry_pause{20'000};
    std::chrono::nanoseconds max_retry_pause{2'000'000};
};

struct tick_target {
    tick_timing timing;
    int thread = 0;
    timer_t timer{};
    std::chrono::nanoseconds interval{0};  // between ticks of the timer; 0: single ticks
    // current pause while ticks find library code; 0: the latest tick found application code
    std::chrono::nanoseconds current_pause{0};
    // shared with the kernel module, if the ticks come from the module
    tutti_tick_entry* kernel = nullptr;
    unsigned kernel_number = 0;
    std::uint64_t kernel_deferred = 0;  // the module's count of ticks, after the source has stopped
    std::atomic<bool> urgent{false};
    std::atomic<core::descriptor*> running{nullptr};  // descriptor of the running context; null between two contexts
};

struct tick_source {
    std::string_view name;
    std::string_view summary;
    /// True if the source preempts contexts. Otherwise contexts need no critical regions.
    bool preempts;
    void (*start)(tick_target& t);
    void (*request)(tick_target& t) noexcept;
    void (*stop)(tick_target& t) noexcept;
    // Each of these functions may be null if the source does not need the event.
    void (*enter)(tick_target& t, core::descriptor& d, const stack& on) noexcept = nullptr;
    void (*rearm)(tick_target& t) noexcept = nullptr;
    void (*leave)(tick_target& t) noexcept = nullptr;
    void (*allow)(std::uintptr_t begin, std::uintptr_t end) noexcept = nullptr;
    /// Returns how many ticks have found code that may not be interrupted, counting only those that the worker has not
    /// noticed. Any thread may call this.
    std::uint64_t (*deferred)(const tick_target& t) noexcept = nullptr;
};

/// Returns the source with the name `name`. `automatic` stands for the best available source. If `kernel` is not
/// available, uses on-demand instead, and prints a line on standard error with the reason. Throws std::invalid_argument
/// for an unknown name.
[[nodiscard]] const tick_source& choose_tick_source(std::string_view name);

// --- functions that sources use

/// Creates the timer of the calling thread, which is a worker. Throws std::system_error.
void make_timer(tick_target& t);
void delete_timer(tick_target& t) noexcept;
/// Sets the flag that is checked where critical regions end. Returns true if the caller must send a tick. Returns false
/// if the worker notices the flag within `flag_timeout`. Also returns false if another caller has set the flag and the
/// worker has not reacted yet, because that caller sends a tick. The tick repeats until the worker handles it.
[[nodiscard]] bool must_send_tick(tick_target& t) noexcept;

/// Sends the signal now.
void send_tick(const tick_target& t) noexcept;
/// Sets the worker's timer. The previous setting is replaced: the next tick comes after `time`, and later ticks follow
/// at the timer's interval. Async-signal-safe.
void tick_after(tick_target& t, std::chrono::nanoseconds time) noexcept;

/// Returns the pause that would follow if a tick without effect came now.
[[nodiscard]] std::chrono::nanoseconds next_pause(const tick_target& t) noexcept;
/// Handles a tick without effect: the next tick comes after a longer pause than before, and the timer's interval also
/// becomes longer. Async-signal-safe.
void back_off(tick_target& t) noexcept;
/// Resets the pause, after a tick that has found application code or after a switch to another context.
void end_back_off(tick_target& t) noexcept;

}  // namespace tutti::preempt
