// Signals of the core that reach blocks of the language.
//
// A signal is raised in a barrier or a commit, deep in the frames of the transaction. This file does the signal's undo
// work on that stack. Then the begin of the target block returns once more, and the frames are gone.
#include <cerrno>
#include <optional>
#include <utility>

#include "itm/block.hpp"
#include "itm/journal.hpp"
#include "itm/passage.hpp"
#include "itm/refusal.hpp"
#include "tutti/detail/runtime.hpp"

namespace tutti::itm {
namespace {

/// Returns from begin again. If the block could not be opened at once, this is the first return of its begin.
[[noreturn]] void return_again(block& b, std::uint32_t actions) {
    const bool again = std::exchange(b.returned, true);
    errno = b.error;
    tutti_itm_return_again(actions | (again ? restore_live_variables : save_live_variables), &b.at);
}

std::uint32_t run_again(descriptor& d, side& s, block& b) {
    b.merged = 0;
    b.final = false;
    if (!b.wants_serial && d.is_irrevocable() && s.notes != nullptr) {
        s.notes->note_switch({switch_reason::restarts, nullptr, nullptr});
    }
    if (!b.wants_serial || !d.is_irrevocable()) return run_instrumented;
    api::become_serial(d);
    if (s.notes != nullptr) s.notes->note_alone();
    s.direct = true;
    b.final = true;
    return (b.properties & uninstrumented_code) != 0 ? run_uninstrumented : run_instrumented;
}

/// While an object lives, undo actions may run blocks on the descriptor of `b`, before `b` begins again.
class while_undone {
public:
    while_undone(side& s, block& b) : s_{s}, b_{b} { s.outermost = &deeper(b); }
    while_undone(const while_undone&) = delete;
    while_undone& operator=(const while_undone&) = delete;
    ~while_undone() { s_.outermost = &b_; }

private:
    side& s_;
    block& b_;
};

[[noreturn]] void restart_outermost(descriptor& d, side& s, block& b) {
    forget_exceptions(d, b.exceptions);
    if (s.notes != nullptr) {
        if (d.pending == core::signal::cancel) s.notes->note_cancel(b.at.resume);
        else s.notes->note_abort(d.cause, s.notes->in_the_way(), false);
    }
    const detail::sequel next = or_refuse(b, "start over", [&] {
        std::optional<while_undone> other_block;
        if ((d.slow_commit & core::slow_commit_handlers) != 0) other_block.emplace(s, b);
        return detail::reopen(d);
    });
    begin_anew(s, false);
    if (next == detail::sequel::again) {
        if (s.notes != nullptr) {
            s.notes->begin_again(b.at.resume);
            s.notes->note_waits(d);
        }
        return_again(b, run_again(d, s, b));
    }
    if (s.notes != nullptr) s.notes->name_what_is_new();
    return_again(b, leave_block);
}

/// Calls f() while no open block of the language could receive a signal that the core raises meanwhile. The core raises
/// a signal if the wait before the block runs again was in vain, or if the attempt has been killed. Returns `propagate`
/// then, which sends the signal to the library.
template <class F>
detail::sequel unless_signalled(F&& f) {
    try {
        return f();
    } catch (const detail::unwind&) {
        return detail::sequel::propagate;
    }
}

}  // namespace

void receive(tx& t) {
    descriptor& d = descriptor::of(t);
    side& s = side_of(d);
    for (;;) {
        block& b = innermost(d);
        if (b.final) refuse_undo(d, b);
        if (b.parent == nullptr) restart_outermost(d, s, b);
        const abort_cause cause = d.cause;
        const void* const other = s.notes != nullptr ? s.notes->in_the_way() : nullptr;
        const detail::sequel next = unless_signalled([&] { return detail::reopen_nested(t, b); });
        forget_exceptions(d, b.exceptions);  // also on the way to the library: their frames are dropped
        s.direct = b.was_direct;
        switch (next) {
            case detail::sequel::again:
                if (s.notes != nullptr) s.notes->note_abort(cause, other, true);
                if (unless_signalled([&] {
                        detail::open_nested(t, b);
                        return detail::sequel::again;
                    }) == detail::sequel::propagate) {
                    break;
                }
                b.merged = 0;
                s.direct = s.direct && !b.logs;
                return_again(b, run_instrumented);
            case detail::sequel::cancelled:
                if (s.notes != nullptr) s.notes->note_cancel(b.at.resume);
                return_again(b, leave_block);
            case detail::sequel::propagate: break;
        }
        if (is_block(d.frame_)) continue;
        if (s.notes != nullptr && next_block(d.frame_) == nullptr) {
            s.notes->note_abort(d.cause, s.notes->in_the_way(), false);
        }
        pass_to_library(d);
    }
}

}  // namespace tutti::itm
