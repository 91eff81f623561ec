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
    dispatched,  ///< the context begins: its first instruction comes next
    preempted,   ///< a context of a higher level has taken this context's worker
    parked,      ///< the context waits for a transaction or sleeps in retry
    resumed,     ///< the context continues where it was interrupted
    finished,
};

/// Receives the events. The function is called on the worker's thread between two contexts, outside of all locks. It
/// must not block.
struct observer {
    void* self = nullptr;
    void (*on_event)(void* self, context_event what, const context& whom, unsigned worker) noexcept = nullptr;
};

/// The maximum number of workers, because each worker has one bit of a word.
inline constexpr unsigned max_workers = 64;

/// A function that a worker runs instead of sleeping while no context is ready. No tick switches this function away,
/// because it runs in the worker's loop.
struct idle_callback {
    void* self = nullptr;
    /// Runs on the worker's thread. Returns soon after `wakeup_word` differs from `seen`, or after the time `until`.
    /// Returns false if the worker may sleep instead.
    bool (*run_idle)(void* self, const std::atomic<std::uint32_t>& wakeup_word, std::uint32_t seen,
                     base::deadline until) noexcept = nullptr;
    /// Ends a sleep inside `run_idle`. The wake-up word has changed before this call. Before `run_idle` sleeps, it must
    /// announce the sleep by a store and check the wake-up word afterwards. Both accesses must be sequentially
    /// consistent. Any thread may call `wake`, which must not block.
    void (*wake)(void* self) noexcept = nullptr;
};

struct options {
    unsigned workers = 1;
    unsigned contexts = 1024;              // NUM_CONTEXTS: maximum number of works that have a place
    std::size_t stack_bytes = 256 * 1024;  // for each context; the system allocates memory when it is touched
    std::size_t max_waiting = 5120;  // maximum number of accepted works that have not begun, or have lost their place
    // If true, and if `max_waiting` is reached, more urgent work replaces less urgent work that has not begun. The
    // replaced work is shed.
    bool sheds = false;
    unsigned highest_level = 5;  // levels go from 0 to this one, at most 63
    priority_boost boost = {};
    // If true, started contexts may continue on any worker. REQUIRES: !shared_thread_locals
    bool migrate = false;
    // If true, contexts use the thread-local storage of their worker. If a context is interrupted while it changes a
    // thread-local variable, the next context sees that variable half changed. If false, each context has thread-local
    // storage of its own (tls_block.hpp), if tls_block::is_available().
    bool shared_thread_locals = false;
    // A worker has the lowest real-time priority while it runs work of this level or higher, or has been woken for such
    // work. Meanwhile other programs on its processor wait for it. The process needs permission for real-time
    // priorities.
    std::optional<unsigned> realtime_min_priority = {};
    std::string_view tick_source = "automatic";
    tick_timing timing = {};
    observer event_observer = {};
    idle_callback idle = {};
};

/// Counts since the scheduler's start. The counts may be read at any time, and each count is exact once the scheduler
/// is drained.
struct counts {
    std::uint64_t accepted = 0;
    std::uint64_t refused = 0;  // there was no room
    std::uint64_t finished = 0;
    std::uint64_t preemptions = 0;
    std::uint64_t priority_boosts = 0;
    std::uint64_t parkings = 0;
    std::uint64_t priority_inheritances = 0;  // number of levels that awaited contexts inherited from waiters
    std::uint64_t ticks_by_signal = 0;        // ticks that arrived as a signal
    std::uint64_t ticks_by_kernel = 0;        // ticks that arrived from the kernel module, without a signal
    std::uint64_t ticks_deferred = 0;         // of these, ticks outside of application code or in a critical region
    std::uint64_t unstarted = 0, active = 0, parked = 0, without_context = 0;  // current numbers
    std::array<std::uint64_t, max_levels> unstarted_by_level{};  // of these, works that have not begun, by level
    std::array<std::uint64_t, max_levels> shed_by_level{};       // accepted works that were shed before they began
};

}  // namespace tutti::preempt
