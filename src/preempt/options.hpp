// The options of a scheduler, and the events that it reports to its observer.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <string_view>

#include "preempt/level_lists.hpp"
#include "preempt/tick_source.hpp"
#include "preempt/work.hpp"

namespace tutti::preempt {

struct context;

enum class context_event : std::uint8_t {
    dispatched,  ///< its first instruction comes next
    preempted,   ///< a context of a higher level took its worker
    parked,      ///< it waits for a transaction or sleeps in retry
    resumed,     ///< it continues where it was
    finished,
};

/// Receives the events. Called on the worker's thread between two contexts, outside of all locks. Must not block.
struct observer {
    void* self = nullptr;
    void (*on_event)(void* self, context_event what, const context& whom, unsigned worker) noexcept = nullptr;
};

/// The maximum number of workers: each has a bit of a word.
inline constexpr unsigned max_workers = 64;

/// The function that a worker runs instead of sleeping while no context is ready. The worker is in its loop then, so no
/// tick switches it away.
struct idle_callback {
    void* self = nullptr;
    /// Runs on the worker's thread. Returns soon after `wakeup_word` differs from `seen`, and after `until`. Returns
    /// false if the worker may sleep instead.
    bool (*run_idle)(void* self, const std::atomic<std::uint32_t>& wakeup_word, std::uint32_t seen,
                     base::deadline until) noexcept = nullptr;
    /// Ends a sleep inside `run_idle`. The wake-up word has changed before the call. A `run_idle` that is about to
    /// sleep stores this first and checks the wake-up word afterwards, both sequentially consistent. Any thread may
    /// call it. Must not block.
    void (*wake)(void* self) noexcept = nullptr;
};

struct options {
    unsigned workers = 1;
    unsigned contexts = 1024;              // NUM_CONTEXTS: number of places, and so of works in progress
    std::size_t stack_bytes = 256 * 1024;  // of each context; memory is allocated when it is touched
    std::size_t max_waiting = 5120;  // maximum number of accepted works that have not begun, or have no place any more
    // When this maximum is reached, more urgent work replaces work that has not begun, which is shed.
    bool sheds = false;
    unsigned highest_level = 5;  // levels go from 0 to this one, at most 63
    priority_boost boost = {};
    // started contexts may continue on any worker. REQUIRES: !shared_thread_locals
    bool migrate = false;
    // Contexts use the thread-local storage of their worker. If a context is interrupted while it changes a
    // thread-local variable, the next context sees that variable half changed. False: each context has thread-local
    // storage of its own (tls_block.hpp), where tls_block::available().
    bool shared_thread_locals = false;
    // A worker has a real-time priority, the lowest, while it runs, or was called for, work of this level or higher.
    // Then other programs on its processor wait for it. The process needs permission for that.
    std::optional<unsigned> realtime_min_priority = {};
    std::string_view tick_source = "automatic";
    tick_timing timing = {};
    observer event_observer = {};
    idle_callback idle = {};
};

/// Counts since the start. You can read them at any time; each is exact once the scheduler is drained.
struct counts {
    std::uint64_t accepted = 0;
    std::uint64_t refused = 0;  // there was no room
    std::uint64_t finished = 0;
    std::uint64_t preemptions = 0;
    std::uint64_t priority_boosts = 0;
    std::uint64_t parkings = 0;
    std::uint64_t priority_inheritances = 0;  // levels of waiters that the awaited contexts inherited
    std::uint64_t ticks_by_signal = 0;        // ticks that came as a signal
    std::uint64_t ticks_by_kernel = 0;        // ticks that came without a signal, from the kernel module
    std::uint64_t ticks_deferred = 0;         // of both, those outside of application code or in a critical region
    std::uint64_t unstarted = 0, active = 0, parked = 0, without_context = 0;  // current numbers
    std::array<std::uint64_t, max_levels> unstarted_by_level{};  // of those, the works that have not begun, by level
    std::array<std::uint64_t, max_levels> shed_by_level{};       // accepted works that were shed before they began
};

}  // namespace tutti::preempt
