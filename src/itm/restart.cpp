// Handles signals of the core that reach blocks of the language.
//
// A barrier or a commit raises a signal deep in the frames of the transaction. This file undoes the attempt's effects
// while it runs on that stack. Then the begin of the target block returns once more, which drops the frames.
#include <cerrno>
#include <optional>
#include <utility>

#include "itm/block.hpp"
#include "itm/block_counters.hpp"
#include "itm/fatal_error.hpp"
#include "itm/signal_forwarding.hpp"
#include "tutti/detail/runtime.hpp"

namespace tutti::itm {
namespace {

/// Makes begin return again. If the block could not be opened immediately, this is the first return of its begin.
[[noreturn]] void return_again(block& b, std::uint32_t actions) {
    const bool again = std::exchange(b.returned, true);
    errno = b.error;
    tutti_itm_return_again(actions | (again ? restore_live_variables : save_live_variables), &b.saved);
}

std::uint32_t run_again(descriptor& d, runtime_state& s, block& b) {
    b.merged = 0;
    b.final = false;
    if (!b.wants_serial && d.is_irrevocable() && s.counters != nullptr) {
        s.counters->record_switch({switch_reason::restarts, nullptr, nullptr});
    }
    if (!b.wants_serial || !d.is_irrevocable()) return run_instrumented;
    api::become_serial(d);
    if (s.counters != nullptr) s.counters->record_alone();
    s.direct = true;
    b.final = true;
    return (b.properties & uninstrumented_code) != 0 ? run_uninstrumented : run_instrumented;
}

/// While an undo_scope lives, undo actions may run blocks on the descriptor of `b`, before `b` begins again.
class undo_scope {
public:
    undo_scope(runtime_state& s, block& b) : s_{s}, b_{b} { s.outermost = &inner_block(b); }
    undo_scope(const undo_scope&) = delete;
    undo_scope& operator=(const undo_scope&) = delete;
    ~undo_scope() { s_.outermost = &b_; }

private:
    runtime_state& s_;
    block& b_;
};

[[noreturn]] void restart_outermost(descriptor& d, runtime_state& s, block& b) {
    forget_exceptions(d, b.exceptions);
    if (s.counters != nullptr) {
        if (d.pending == core::signal::cancel) s.counters->record_cancel(b.saved.resume);
        else s.counters->record_abort(d.cause, s.counters->conflicting_block(), false);
    }
    const detail::after_rollback next = or_die(b, "start over", [&] {
        std::optional<undo_scope> other_block;
        if ((d.slow_commit & core::slow_commit_handlers) != 0) other_block.emplace(s, b);
        return detail::reopen(d);
    });
    reset_for_transaction(s, false);
    if (next == detail::after_rollback::again) {
        if (s.counters != nullptr) {
            s.counters->begin_next_attempt(b.saved.resume);
            s.counters->record_waits(d);
        }
        return_again(b, run_again(d, s, b));
    }
    if (s.counters != nullptr) s.counters->resolve_new_addresses();
    return_again(b, leave_block);
}

/// Calls f() while no open block of the language could receive a signal that the core raises. The core raises a signal
/// if the wait before the next attempt fails, or if the attempt is killed. In this case, returns `propagate`, which
/// forwards the signal to the library.
template <class F>
detail::after_rollback or_propagate(F&& f) {
    try {
        return f();
    } catch (const detail::unwind&) {
        return detail::after_rollback::propagate;
    }
}

}  // namespace

void receive_signal(tx& t) {
    descriptor& d = descriptor::of(t);
    runtime_state& s = runtime_state_of(d);
    for (;;) {
        block& b = innermost(d);
        if (b.final) die_in_undo(d, b);
        if (b.parent == nullptr) restart_outermost(d, s, b);
        const abort_cause cause = d.cause;
        const void* const other = s.counters != nullptr ? s.counters->conflicting_block() : nullptr;
        const detail::after_rollback next = or_propagate([&] { return detail::reopen_nested(t, b); });
        forget_exceptions(d, b.exceptions);  // also if the signal goes to the library, because the frames are dropped
        s.direct = b.was_direct;
        switch (next) {
            case detail::after_rollback::again:
                if (s.counters != nullptr) s.counters->record_abort(cause, other, true);
                if (or_propagate([&] {
                        detail::open_nested(t, b);
                        return detail::after_rollback::again;
                    }) == detail::after_rollback::propagate) {
                    break;
                }
                b.merged = 0;
                s.direct = s.direct && !b.logs;
                return_again(b, run_instrumented);
            case detail::after_rollback::cancelled:
                if (s.counters != nullptr) s.counters->record_cancel(b.saved.resume);
                return_again(b, leave_block);
            case detail::after_rollback::propagate: break;
        }
        if (is_block(d.frame_)) continue;
        if (s.counters != nullptr && next_block(d.frame_) == nullptr) {
            s.counters->record_abort(d.cause, s.counters->conflicting_block(), false);
        }
        forward_to_library(d);
    }
}

}  // namespace tutti::itm
