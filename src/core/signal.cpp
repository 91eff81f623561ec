#include "core/signal.hpp"

#include <cxxabi.h>

#include "core/algorithm.hpp"
#include "core/critical.hpp"
#include "core/deadline.hpp"
#include "core/fault.hpp"
#include "core/seats.hpp"

namespace tutti::core {

namespace {

std::uintptr_t stack_of_outermost(const descriptor& d) noexcept {
    const detail::frame* f = d.frame_;
    while (f != nullptr && f->parent != nullptr) f = f->parent;
    return f != nullptr ? f->stack : 0;
}

/// REQUIRES: d.eviction is held.
void give_back_locked(descriptor& d) noexcept {
    if (!d.given_back) {
        const bool by_owner = d.suspended.load(std::memory_order_relaxed) == 0;
        // A thread that exits has said itself where its stack ends.
        if (d.landing == 0 && by_owner) d.landing = stack_of_outermost(d);
        d.algorithm->roll_back(d);
        d.landing = 0;
        d.given_back = true;
    }
    if (d.strict()) vacate_seat(d);
}

}  // namespace

void give_back(descriptor& d) noexcept {
    const base::lock_guard guard{d.eviction};
    give_back_locked(d);
}

void doom(descriptor& d, signal s, abort_cause cause) noexcept {
    d.pending = s;
    d.cause = cause;
    d.close_bounds();
    d.troubles |= trouble_pending;
    d.extras |= extra_pending;
    if (s != signal::restart) return;
    d.set_status(status::aborting);
    give_back_locked(d);
}

namespace {

/// So many partial roll-backs may fail before an attempt starts over: what it keeps may be what makes it fail.
constexpr std::uint32_t rewinds_per_attempt = 64;

/// The innermost nested block for which `fits(mark)`, or null. A strict attempt leaves marks behind that only its end
/// takes away. What a destructor meets while an exception passes cannot leave it: the block may be over, and another
/// roll-back on its way, before anybody looks at it.
template <class F>
const detail::frame* way_back(descriptor& d, F&& fits) noexcept {
    if (d.frame_->parent == nullptr || d.strict() || d.unwinding()) return nullptr;
    // Decided once an attempt: one that has tried shows whether it pays only if it may go on.
    if (d.run.rewinds == 0 ? !d.partial.worthwhile() : d.run.rewinds >= rewinds_per_attempt) return nullptr;
    for (const detail::frame* f = d.frame_; f->parent != nullptr; f = f->parent) {
        if (fits(f->mark)) return f;
    }
    return nullptr;
}

[[noreturn]] void rewind_to(descriptor& d, const detail::frame& f, word limit, abort_cause cause) {
    d.rewind_to = &f;
    d.rewind_limit = limit;
    raise(d, signal::rewind, cause);
}

}  // namespace

void fall_back(descriptor& d, std::size_t first_invalid, word limit, abort_cause cause) {
    const auto* const f = way_back(d, [&](const detail::savepoint& mark) {
        return mark.reads <= first_invalid || broken(fault::rewind_too_little);
    });
    if (f == nullptr) abort_attempt(d, cause);
    rewind_to(d, *f, limit, cause);
}

void let_pass(descriptor& d, const obstacle& other, abort_cause cause) {
    d.run.in_the_way = other;
    const auto* const f = way_back(d, [](const detail::savepoint&) { return true; });
    if (f == nullptr) abort_attempt(d, cause);
    rewind_to(d, *f, d.limit, cause);
}

void retreat(descriptor& d, abort_cause cause) {
    const auto* const f = way_back(d, [](const detail::savepoint& mark) { return mark.writes == 0; });
    if (f == nullptr) abort_attempt(d, cause);
    rewind_to(d, *f, d.limit, cause);
}

void raise(descriptor& d, signal s, abort_cause cause) {
    {
        const base::lock_guard guard{d.eviction};
        doom(d, s, cause);
    }
    raise_again(d);
}

void raise_again(descriptor& d) {
    if (d.frame_->receive != nullptr) {
        leave_critical_regions(d);
        d.frame_->receive(d);
    }
    if (d.frame_->jump != nullptr && !d.unwinding()) {
        leave_critical_regions(d);
        d.frame_->jump(*d.frame_);
        __builtin_unreachable();
    }
    throw detail::unwind{};
}

void abort_attempt(descriptor& d, abort_cause cause) { raise(d, signal::restart, cause); }

void need_current_reads(descriptor& d) {
    if (d.logging) return;
    d.run.log_reads = true;
    abort_attempt(d, abort_cause::mode_switch);
}

void refuse_repetition(const descriptor& d, const char* otherwise) {
    if (d.is_irrevocable()) throw usage_error{otherwise};
    throw usage_error{
        "tutti: retry, restart or become_visible in a block of the language that runs without barriers, because no "
        "other thread uses transactions; a block with a __transaction_cancel keeps its barriers"};
}

footing examine(descriptor& d) {
    if ((d.troubles & trouble_idle) != 0) {
        throw usage_error{"tutti: this tx's transaction has ended; a tx may only be used inside the body that got it"};
    }
    if ((d.troubles & trouble_frozen) != 0) {
        throw usage_error{
            "tutti: a participant, an at_commit or an on_abort handler touched the transaction; move the access to the "
            "body or to a before_commit handler"};
    }
    if ((d.troubles & trouble_pending) != 0) {
        if (!d.unwinding()) raise_again(d);
        // A block that is only being left still owns what it wrote, and its algorithm can answer.
        return d.given_back ? footing::detached : footing::shielded;
    }
    if (d.unwinding()) {
        if (!d.asked_to_die()) return footing::shielded;
        const base::lock_guard guard{d.eviction};
        doom(d, signal::restart, abort_cause::killed);
        return footing::detached;
    }
    abort_if_doomed(d);
    if ((d.troubles & trouble_timed) != 0) look_at_clock(d);
    // Another transaction closed the bounds for one that is over by now.
    d.set_bounds();
    return footing::sound;
}

}  // namespace tutti::core

namespace tutti::detail {

bool signalled(const tx& t) noexcept {
    // A forced unwind has no C++ type; catching it for good ends the program.
    return static_cast<const core::descriptor&>(t).pending != core::signal::none &&
           abi::__cxa_current_exception_type() != nullptr;
}

}  // namespace tutti::detail
