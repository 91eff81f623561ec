#include "core/rollback/signal.hpp"

#include <cxxabi.h>

#include <typeinfo>

#include "core/ports/algorithm.hpp"
#include "core/rollback/traced.hpp"
#include "core/rollback/user_code.hpp"
#include "core/state/critical.hpp"
#include "core/state/fault_injection.hpp"
#include "core/tokens/serial_token.hpp"

namespace tutti::core {

namespace {

std::uintptr_t stack_of_outermost(const descriptor& d) noexcept {
    const detail::frame* f = d.frame_;
    while (f != nullptr && f->parent != nullptr) f = f->parent;
    return f != nullptr ? f->stack : 0;
}

/// REQUIRES: d.eviction is held.
void release_ownership_locked(descriptor& d) noexcept {
    if (!d.ownership_released) {
        const bool by_owner = d.suspended.load(std::memory_order_relaxed) == 0;
        // A thread that exits has already stored the end of its stack.
        if (d.rollback_stack_end == 0 && by_owner) d.rollback_stack_end = stack_of_outermost(d);
        d.algorithm->roll_back(d);
        d.rollback_stack_end = 0;
        d.ownership_released = true;
    }
    if (d.strict()) release_tokens(d);
}

}  // namespace

void release_ownership(descriptor& d) noexcept {
    const base::lock_guard guard{d.eviction};
    release_ownership_locked(d);
}

void doom(descriptor& d, signal s, abort_cause cause) noexcept {
    d.pending = s;
    // If ownership has been released, the attempt is over already, and a destructor is leaving a block of its own. The
    // first cause stays.
    if (!d.ownership_released) d.cause = cause;
    d.close_bounds();
    d.slow_path |= slow_path_pending;
    d.slow_commit |= slow_commit_pending;
    if (s != signal::restart) return;
    d.set_status(status::aborting);
    release_ownership_locked(d);
}

namespace {

/// After this number of partial roll-backs an attempt starts over, because the locks that the attempt keeps may cause
/// its conflicts.
constexpr std::uint32_t max_partial_rollbacks = 64;

/// Returns the innermost nested block for which `fits(mark)` is true, or null. Returns null for a strict attempt,
/// because only its end removes its marks. Also returns null in a destructor while an exception passes. By the time
/// when the signal is handled, the block may be over, and another roll-back may be in progress.
template <class F>
const detail::frame* rollback_target(descriptor& d, F&& fits) noexcept {
    if (d.frame_->parent == nullptr || d.strict() || d.unwinding()) return nullptr;
    // The predictor decides once for each attempt. After a first partial roll-back, only an attempt that may try again
    // shows whether partial roll-backs pay.
    if (d.run.partial_rollbacks == 0 ? !d.partial_rollback.predictor.is_worthwhile()
                                     : d.run.partial_rollbacks >= max_partial_rollbacks)
        return nullptr;
    for (const detail::frame* f = d.frame_; f->parent != nullptr; f = f->parent) {
        if (fits(f->mark)) return f;
    }
    return nullptr;
}

[[noreturn]] void raise_partial_rollback(descriptor& d, const detail::frame& f, word bound, abort_cause cause) {
    d.partial_rollback.to = &f;
    d.partial_rollback.bound = bound;
    raise(d, signal::partial_rollback, cause);
}

}  // namespace

void attempt_roll_back_to_valid(descriptor& d, std::size_t first_invalid, word bound, abort_cause cause) {
    const auto* const f = rollback_target(d, [&](const detail::savepoint& mark) {
        return mark.reads <= first_invalid || injected(fault::roll_back_too_little);
    });
    if (f == nullptr) attempt_abort(d, cause);
    raise_partial_rollback(d, *f, bound, cause);
}

const detail::frame* rollback_target_before(descriptor& d, std::size_t place) noexcept {
    return rollback_target(d, [place](const detail::savepoint& mark) { return mark.deferred <= place; });
}

void attempt_roll_back_to(descriptor& d, const detail::frame& to, abort_cause cause) {
    raise_partial_rollback(d, to, d.snapshot_bound, cause);
}

void attempt_wait_and_repeat(descriptor& d, const wait_target& other, abort_cause cause) {
    d.run.blocked_by = other;
    const auto* const f = rollback_target(d, [](const detail::savepoint&) { return true; });
    if (f == nullptr) attempt_abort(d, cause);
    raise_partial_rollback(d, *f, d.snapshot_bound, cause);
}

void attempt_roll_back_to_unowned(descriptor& d, abort_cause cause) {
    const auto* const f = rollback_target(d, [](const detail::savepoint& mark) { return mark.writes == 0; });
    if (f == nullptr) attempt_abort(d, cause);
    raise_partial_rollback(d, *f, d.snapshot_bound, cause);
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
    if (d.hooks != nullptr && d.hooks->isolates)
        throw traced<detail::unwind>{d, d.interrupted.load(std::memory_order_relaxed)};
    throw detail::unwind{};
}

void attempt_abort(descriptor& d, abort_cause cause) { raise(d, signal::restart, cause); }

void need_current_reads(descriptor& d) {
    if (d.logging) return;
    leave_hardware(d, hardware_abort::software);
    d.run.log_reads = true;
    attempt_abort(d, abort_cause::mode_switch);
}

void refuse_repetition(const descriptor& d, const char* otherwise) {
    if (d.is_irrevocable()) throw usage_error{otherwise};
    throw usage_error{
        "tutti: retry, restart or become_visible in a block of the language that runs without barriers, because no "
        "other thread uses transactions; a block with a __transaction_cancel keeps its barriers"};
}

}  // namespace tutti::core

namespace tutti::detail {

bool signalled(const tx& t) noexcept {
    const auto& d = static_cast<const core::descriptor&>(t);
    if (!d.running() || d.pending == core::signal::none) return false;
    // A forced unwind has no C++ type. A program that catches it without rethrowing is terminated.
    const std::type_info* const type = abi::__cxa_current_exception_type();
    if (type == nullptr) return false;
    const bool is_signal = *type == typeid(unwind);
    // This exception has not replaced a signal, because no access in a destructor throws a signal.
    if (!is_signal && d.unwinding()) return false;
    // The cast is safe, because no transaction object is const. Only the caller's reference is.
    if (!is_signal) core::keep_exception(core::descriptor::of(const_cast<tx&>(t)));
    return true;
}

}  // namespace tutti::detail
