// Critical regions: while one is open on a preemptable context, the context must not be switched away.
//
// A tick that arrives in a critical region, from a signal handler of the same thread, only raises `pending_tick`. The
// end of the outermost region serves the tick. Only one thread and its signal handlers write both words, so relaxed
// atomics and signal fences are enough.
//
// Contexts without a preemption layer use instances in which these guards are compiled out.
#pragma once

#include "core/state/descriptor.hpp"

namespace tutti::core {

/// The functions that a preemption layer provides for its contexts (descriptor::hooks points to them).
struct preemption {
    /// Serves a tick that arrived in a critical region, at the end of that region. May switch to other contexts and
    /// come back.
    void (*serve_tick)(descriptor& self) noexcept;
    /// Waits for the transaction of `other` whose state was `state`. Returns when that transaction is over, or earlier.
    /// Switches contexts instead of sleeping, so that an awaited context of the same worker can run. If null, the
    /// thread sleeps.
    void (*wait)(descriptor& self, descriptor& other, word state) noexcept;
    /// Waits until `woken` is no longer zero, or until `until`; may return early. `self` runs no transaction. The
    /// thread that changes `woken` calls `wake`. If null, the thread sleeps.
    void (*sleep)(descriptor& self, const detail::shared<std::uint32_t>& woken,
                  std::optional<base::deadline> until) noexcept = nullptr;
    /// Wakes `sleeper`. Any thread may call this function, once for each call of `sleep`, and perhaps before that call.
    /// Not null if `sleep` is not null.
    void (*wake)(descriptor& sleeper) noexcept = nullptr;
    /// Waits as `sleep` does, but may be called while `self` runs a transaction. The awaited event is not the end of a
    /// local transaction, but, for example, an answer from another node. Interruptions do not end this wait, which is
    /// always bounded by `until`. If null, the thread sleeps.
    void (*park)(descriptor& self, const detail::shared<std::uint32_t>& woken, base::deadline until) noexcept = nullptr;
    /// Returns true if `self` may evict the suspended `other`, instead of waiting for it. If null, the policy decides.
    bool (*outranks)(descriptor& self, descriptor& other) noexcept = nullptr;
    /// Begins or ends a section of user code in which no tick switches the context of `self` away. Sections may nest.
    /// Null if this layer has no ticks.
    void (*block_ticks)(descriptor& self, bool begins) noexcept = nullptr;
    /// The stack of the context, including the part that is still unused. 0 bytes if the context uses the stack of its
    /// thread.
    const void* stack = nullptr;
    std::size_t stack_bytes = 0;
    /// True if the context runs a procedure of a server, which must survive errors of the procedure. So a jump out of a
    /// block rolls the block back (core/lifecycle/left_behind.hpp), and an interruption passes noexcept functions
    /// (core/lifecycle/interrupt.hpp). The executor that calls the procedure uses call_boundary.
    bool isolates = false;
};

/// Returns true if a tick may switch contexts now. Otherwise records the tick as pending. Async-signal-safe.
[[nodiscard]] inline bool tick(descriptor& d) noexcept {
    if (d.critical_depth.load(std::memory_order_relaxed) == 0) return true;
    d.pending_tick.store(true, std::memory_order_relaxed);
    return false;
}

inline void serve_pending_tick(descriptor& d) noexcept {
    if (!d.pending_tick.load(std::memory_order_relaxed)) [[likely]]
        return;
    d.pending_tick.store(false, std::memory_order_relaxed);
    d.hooks->serve_tick(d);
}

template <bool Preemptable>
class critical {
public:
    explicit critical(descriptor&) noexcept {}
    ~critical() {}  // keeps "unused variable" quiet  NOLINT(modernize-use-equals-default)
    critical(const critical&) = delete;
    critical& operator=(const critical&) = delete;
};

template <>
class critical<true> {
public:
    explicit critical(descriptor& d) noexcept : descriptor_{d} {
        d.critical_depth.store(d.critical_depth.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
        std::atomic_signal_fence(std::memory_order_seq_cst);  // no access of the region moves before the store above
    }
    ~critical() {
        std::atomic_signal_fence(std::memory_order_seq_cst);  // no access of the region moves after this fence
        const std::uint32_t depth = descriptor_.critical_depth.load(std::memory_order_relaxed) - 1;
        descriptor_.critical_depth.store(depth, std::memory_order_relaxed);
        if (depth == 0) serve_pending_tick(descriptor_);
    }
    critical(const critical&) = delete;
    critical& operator=(const critical&) = delete;

private:
    descriptor& descriptor_;
};

/// Runs `f`, in a critical region if the context is preemptable. Used by code that is compiled once for all contexts,
/// and that acquires a lock which other contexts of the same worker need.
template <class F>
auto in_critical_region(descriptor& d, F&& f) {
    std::optional<critical<true>> region;
    if (d.hooks != nullptr) region.emplace(d);
    return f();
}

/// Closes all open critical regions after a jump, which has skipped the destructors of their guards. User code runs
/// outside all regions.
inline void leave_critical_regions(descriptor& d) noexcept {
    d.critical_depth.store(0, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    serve_pending_tick(d);
}

}  // namespace tutti::core
