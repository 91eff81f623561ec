// Signals of the core that reach blocks of the language.
//
// A signal is raised in a barrier or a commit, deep in the frames of the transaction. What it undoes is undone here, on
// that stack; then the begin of the block that it is meant for returns once more, and the frames are gone.
#include "itm/block.hpp"
#include "itm/journal.hpp"
#include "itm/passage.hpp"
#include "tutti/detail/runtime.hpp"

namespace tutti::itm {
namespace {

[[noreturn]] void return_again(const block& b, std::uint32_t actions) {
    tutti_itm_return_again(actions | restore_live_variables, &b.at);
}

std::uint32_t run_again(descriptor& d, side& s, block& b) {
    b.merged = 0;
    b.final = false;
    if (!s.wants_alone && d.is_irrevocable() && s.notes != nullptr) {
        s.notes->note_switch({switch_reason::restarts, nullptr, nullptr});
    }
    if (!s.wants_alone || !d.is_irrevocable()) return run_instrumented;
    api::go_alone(d);
    s.direct = true;
    b.final = true;
    return (b.properties & uninstrumented_code) != 0 ? run_uninstrumented : run_instrumented;
}

[[noreturn]] void restart_outermost(descriptor& d, side& s, block& b) {
    forget_exceptions(d, b.exceptions);
    s.direct = false;
    if (s.notes != nullptr) {
        if (d.pending == core::signal::cancel) s.notes->note_cancel(b.at.resume);
        else s.notes->note_abort(d.cause, s.notes->in_the_way(), false);
    }
    if (detail::reopen(d) == detail::sequel::again) {
        if (s.notes != nullptr) s.notes->begin_again();
        return_again(b, run_again(d, s, b));
    }
    d.landing = 0;
    s.wants_alone = false;
    if (s.notes != nullptr) s.notes->name_what_is_new();
    return_again(b, leave_block);
}

}  // namespace

void receive(tx& t) {
    descriptor& d = descriptor::of(t);
    side& s = side_of(d);
    for (;;) {
        block& b = innermost(d);
        if (b.final) refuse_undo(b, s);
        if (b.parent == nullptr) restart_outermost(d, s, b);
        // B1
        const std::uintptr_t outermost = d.landing;
        d.landing = reinterpret_cast<std::uintptr_t>(b.at.frame);
        const abort_cause cause = d.cause;
        const void* const other = s.notes != nullptr ? s.notes->in_the_way() : nullptr;
        const detail::sequel next = detail::reopen_nested(t, b);
        d.landing = outermost;
        if (next != detail::sequel::propagate) forget_exceptions(d, b.exceptions);
        s.direct = b.was_direct;
        switch (next) {
            case detail::sequel::again:
                if (s.notes != nullptr) s.notes->note_abort(cause, other, true);
                detail::open_nested(t, b);
                b.merged = 0;
                s.direct = s.direct && (b.properties & has_no_cancel) != 0;
                return_again(b, run_instrumented);
            case detail::sequel::cancelled:
                if (s.notes != nullptr) s.notes->note_cancel(b.at.resume);
                return_again(b, leave_block);
            case detail::sequel::propagate: break;
        }
        if (is_block(d.frame_)) continue;
        if (s.notes != nullptr && next_block(d.frame_) == nullptr) s.notes->note_abort(cause, other, false);
        s.wants_alone = false;
        pass_to_library(d);
    }
}

}  // namespace tutti::itm
