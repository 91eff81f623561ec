// Critical regions: while one is open on a preemptable context, the context must not be switched away.
//
// A tick that arrives meanwhile (from a signal handler of the same thread) only raises `pending_tick`; the end of the
// outermost region serves it. One thread and its signal handlers write both words, so relaxed atomics and signal fences
// are enough.
//
// Contexts without a preemption layer have instances in which these guards are compiled out.
#pragma once

#include "core/state/descriptor.hpp"

namespace tutti::core {

/// What a preemption layer provides for its contexts (descriptor::hooks).
struct preemption {
    /// A tick arrived in a critical region, which has just ended. May switch to other contexts and come back.
    void (*serve_tick)(descriptor& self) noexcept;
    /// `self` has to wait for the transaction that `other` was in when its state read `state`. Returns when that is
    /// over, or early. Switches instead of sleeping, so that an awaited context of the same worker can run.
    /// Null: sleeps.
    void (*wait)(descriptor& self, descriptor& other, word state) noexcept;
    /// `self`, which runs no transaction, has nothing to do until `woken` is no longer zero or `until`. Returns then,
    /// or early. The thread that changes `woken` calls `wake`. Null: sleeps.
    void (*sleep)(descriptor& self, const detail::shared<std::uint32_t>& woken,
                  std::optional<base::deadline> until) noexcept = nullptr;
    /// On any thread, once for a `sleep` and perhaps before it: `sleeper` has something to do.
    /// Not null if `sleep` is not.
    void (*wake)(descriptor& sleeper) noexcept = nullptr;
    /// `self`, in the middle of a transaction, waits for what is no transaction: as `sleep`, but nothing interrupts it,
    /// and it is not held to wait for ever. Null: sleeps.
    void (*rest)(descriptor& self, const detail::shared<std::uint32_t>& woken, base::deadline until) noexcept = nullptr;
    /// Whether `self` takes what `other` owns, which is suspended, instead of waiting for it. Null: the policy decides.
    bool (*outranks)(descriptor& self, descriptor& other) noexcept = nullptr;
    /// In user code: no tick takes the processor from the context of `self` until it has ended as often as it has
    /// begun. Null: there are no ticks.
    void (*hold)(descriptor& self, bool begins) noexcept = nullptr;
    /// The stack of the context, with all that may be opened below it. 0 bytes: it is that of its thread.
    const void* stack = nullptr;
    std::size_t stack_bytes = 0;
    /// What runs here is a procedure of a server, which must not end for it: a jump out of a block rolls the block back
    /// (core/lifecycle/left_behind.hpp), and an interruption passes a function that is noexcept (interrupt.hpp there).
    /// The executor that calls the procedure uses call_boundary.
    bool isolates = false;
};

/// For a tick: whether it may switch contexts now. If not, notes it as pending. Async-signal-safe.
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
        std::atomic_signal_fence(std::memory_order_seq_cst);  // nothing of the region before the depth
    }
    ~critical() {
        std::atomic_signal_fence(std::memory_order_seq_cst);  // nothing of the region after it
        const std::uint32_t depth = descriptor_.critical_depth.load(std::memory_order_relaxed) - 1;
        descriptor_.critical_depth.store(depth, std::memory_order_relaxed);
        if (depth == 0) serve_pending_tick(descriptor_);
    }
    critical(const critical&) = delete;
    critical& operator=(const critical&) = delete;

private:
    descriptor& descriptor_;
};

/// Runs `f` in a critical region where the context is preemptable: for code that is compiled once for all contexts, and
/// takes a lock that others of the same worker need.
template <class F>
auto undisturbed(descriptor& d, F&& f) {
    std::optional<critical<true>> region;
    if (d.hooks != nullptr) region.emplace(d);
    return f();
}

/// A jump skips the ends of the guards that are open. User code runs outside all regions.
inline void leave_critical_regions(descriptor& d) noexcept {
    d.critical_depth.store(0, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    serve_pending_tick(d);
}

}  // namespace tutti::core
