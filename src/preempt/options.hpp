// How a scheduler is set up, and what it tells its observer.
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

enum class happening : std::uint8_t {
    dispatched,  ///< its first instruction comes next
    preempted,   ///< it gave way to a higher level
    parked,      ///< it waits for a transaction or sleeps in retry
    resumed,     ///< it goes on where it was
    finished,
};

/// Told on the worker's thread between two contexts, outside every lock. Must not block.
struct observer {
    void* self = nullptr;
    void (*tell)(void* self, happening what, const context& whom, unsigned worker) noexcept = nullptr;
};

/// A bit of a word stands for each.
inline constexpr unsigned most_workers = 64;

/// What a worker does while nothing is ready, in place of sleeping. It is in its loop then, and no tick switches it
/// away.
struct pastime {
    void* self = nullptr;
    /// On the worker's thread; returns soon after `bell` is not `seen` any more, and after `until`. False: it may as
    /// well sleep.
    bool (*spend)(void* self, const std::atomic<std::uint32_t>& bell, std::uint32_t seen,
                  base::deadline until) noexcept = nullptr;
    /// Ends a sleep inside `spend`. The bell has been rung; a `spend` that is about to sleep says so first, and looks
    /// at the bell after that, both sequentially consistent. From any thread. Must not block.
    void (*recall)(void* self) noexcept = nullptr;
};

struct options {
    unsigned workers = 1;
    unsigned contexts = 1024;              // NUM_CONTEXTS: so many places; so much is admitted to processing at once
    std::size_t stack_bytes = 256 * 1024;  // of each; taken as it is touched
    std::size_t waiting = 5120;            // so much may be accepted without having begun or without a place any more
    bool sheds = false;          // what has not begun gives way to what is more urgent where no more may be accepted
    unsigned highest_level = 5;  // levels go from 0 to it, at most 63
    promotion promote = {};
    bool migrate = false;  // started contexts may go on on any worker. REQUIRES: !shared_thread_locals
    // Contexts use the thread-local storage of their worker. One that is interrupted in the middle of changing a
    // thread-local variable then leaves that variable half changed to the next one. False: each context has
    // thread-local storage of its own (tls_block.hpp), where tls_block::available().
    bool shared_thread_locals = false;
    // A worker has a real-time priority, the lowest, while it runs, or has been called for, something of that level or
    // more: other programs on its processor wait for it. The process has to be allowed to.
    std::optional<unsigned> realtime_from = {};
    std::string_view ticks = "automatic";
    tick_timing timing = {};
    observer watch = {};
    pastime idle = {};
};

/// Since the start. Read at any time; each is exact once the scheduler is drained.
struct counts {
    std::uint64_t accepted = 0;
    std::uint64_t refused = 0;  // found no room
    std::uint64_t finished = 0;
    std::uint64_t preemptions = 0;
    std::uint64_t promotions = 0;
    std::uint64_t parkings = 0;
    std::uint64_t loans = 0;         // of a waiter's level to the context that it waits for
    std::uint64_t signals = 0;       // ticks that came as a signal
    std::uint64_t redirections = 0;  // and without one, by the kernel module
    std::uint64_t postponed = 0;     // of both, outside application code or in a critical region
    std::uint64_t standing = 0, active = 0, parked = 0, backlog = 0;  // at the moment
    std::array<std::uint64_t, most_levels> waiting{};                 // of those, what has not begun, by level
    std::array<std::uint64_t, most_levels> shed{};                    // accepted, and gave way before it began
};

}  // namespace tutti::preempt
