// Handlers that run when their transaction is over: on_commit handlers, and the undo actions of a roll-back.
//
// Such handlers make the calls that a transaction has deferred, or take calls back. Code without barriers makes its
// calls at once. So a transaction may run such code only if no other context has unfinished handlers. Otherwise its
// calls could overtake the deferred calls of a transaction that has committed earlier, or come between these calls.
//
//   a context:           unfinished_handlers += 1; state = idle (release); runs the handlers; unfinished_handlers -= 1
//                        (release)
//   a taker, when alone: has found all others idle (acquire); others_have_finished_handlers?
//
// HND1  If a taker finds a context idle, the taker also sees one of two things: the context has unfinished handlers, or
//       all effects of its finished handlers are visible.
// HND2  The taker does not wait for the handlers, because they may wait for the taker's thread. Its block runs in
//       software instead, where it defers its calls as well. A block that cannot run in software runs nevertheless.
// HND3  While the world is stopped (tokens/serial_token.hpp), no context has unfinished handlers. The owner that stops
//       the world was alone, and had found no unfinished handlers of other contexts. The owner's transaction and the
//       transactions around it leave no handlers either. Later, handlers come only from software transactions, whose
//       begin ends the stopped world. There is no biased owner meanwhile (BIA7).
#pragma once

#include "core/state/ancestry.hpp"
#include "core/state/descriptor.hpp"
#include "core/state/fault_injection.hpp"

namespace tutti::core {

/// Announces that d ends a transaction whose handlers have still to run. Create the object before d becomes idle, and
/// destroy it after the handlers.
class unfinished_handlers_scope {
public:
    explicit unfinished_handlers_scope(descriptor& d) noexcept : of_{d} { add(1, std::memory_order_relaxed); }
    ~unfinished_handlers_scope() { add(~std::uint32_t{0}, std::memory_order_release); }
    unfinished_handlers_scope(const unfinished_handlers_scope&) = delete;
    unfinished_handlers_scope& operator=(const unfinished_handlers_scope&) = delete;

private:
    // Only the context itself changes its count.
    void add(std::uint32_t n, std::memory_order order) noexcept {
        of_.unfinished_handlers.store(of_.unfinished_handlers.load(std::memory_order_relaxed) + n, order);
    }
    descriptor& of_;
};

/// Returns true if no context but that of d has unfinished handlers. O(contexts). If other transactions run, they may
/// have handlers later.
[[nodiscard]] inline bool others_have_finished_handlers(const descriptor& d) noexcept {
    const std::uint32_t count = memory::status_record_count();
    for (std::uint32_t id = 0; id < count; ++id) {
        const descriptor& other = descriptor::of(memory::status_record_of(id));
        if (&other == &d || is_ancestor(other, d)) continue;
        if (other.unfinished_handlers.load(std::memory_order_acquire) != 0) return injected(fault::overtake_handlers);
    }
    return true;
}

}  // namespace tutti::core
