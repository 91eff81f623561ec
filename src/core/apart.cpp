#include "core/apart.hpp"

#include <utility>

#include "core/abstract_locks.hpp"
#include "core/algorithm.hpp"
#include "core/execution.hpp"
#include "core/registry.hpp"
#include "core/signal.hpp"
#include "tutti/open_nesting.hpp"

namespace tutti::core {
namespace {

/// Attempts of an inner transaction before the outer one starts over.
constexpr std::uint32_t attempts_apart = 16;

}  // namespace

descriptor& enter_apart(descriptor& outer) {
    if (outer.inner == nullptr) {
        outer.inner = &acquire_descriptor();
        outer.inner->outer = &outer;
        if (outer.hooks != nullptr) make_preemptable(*outer.inner, *outer.hooks);
    }
    // A context may have come to another thread since the descriptor was made.
    outer.inner->exceptions = outer.exceptions;
    if (outer.frame_ != nullptr) outer.inner->masked_jump = std::exchange(outer.frame_->jump, nullptr);
    outer.inner->threw_after_commit = false;
    detail::current_transaction = outer.inner;
    return *outer.inner;
}

void leave_apart(descriptor& outer) noexcept {
    detail::current_transaction = &outer;
    if (outer.frame_ != nullptr) outer.frame_->jump = std::exchange(outer.inner->masked_jump, nullptr);
}

bool may_restart_encloser(const descriptor& d) noexcept {
    if (d.outer == nullptr || !d.outer->running()) return false;
    const descriptor& outer = *d.outer;
    return (outer.troubles & ~trouble_timed) == 0 && !outer.unwinding() && !outer.prevails();
}

bool encloser_is_doomed(const descriptor& d) noexcept {
    if (!may_restart_encloser(d)) return false;
    for (const descriptor* o = d.outer; o != nullptr; o = o->outer) {
        if (o->running() && o->asked_to_die()) return true;
    }
    return false;
}

void restart_encloser(descriptor& d, abort_cause cause) {
    abandon_execution(d);
    d.pending = signal::none;  // what leaves through frames of d's is not d's: detail::signalled
    // A block of the language is begun again by a jump that passes over whoever would leave.
    if (d.outer->frame_->receive != nullptr) leave_apart(*d.outer);
    abort_attempt(*d.outer, cause);
}

void heed_enclosers(descriptor& d) {
    if (encloser_is_doomed(d)) restart_encloser(d, abort_cause::killed);
}

void back_off_apart(descriptor& d) {
    heed_enclosers(d);
    if (d.run.attempt % attempts_apart == 0 && may_restart_encloser(d)) restart_encloser(d, d.run.last_cause);
    back_off(d);
}

}  // namespace tutti::core

namespace tutti::detail {

using core::descriptor;

bool committed_apart(const tx& t) noexcept { return static_cast<const descriptor&>(t).inner->threw_after_commit; }

bool nests_closed(tx& t) {
    descriptor& d = descriptor::of(t);
    if (!d.healthy()) core::examine(d);
    return d.is_irrevocable() || d.algorithm->one_at_a_time;
}

tx& enter_apart(tx& t) { return core::enter_apart(descriptor::of(t)); }
void leave_apart(tx& t) noexcept { core::leave_apart(descriptor::of(t)); }

}  // namespace tutti::detail

namespace tutti {

void acquire(tx& t, const abstract_lock& lock) {
    core::descriptor& d = core::descriptor::of(t);
    if (!d.healthy()) core::examine(d);
    core::take_abstract_lock(d, {lock.of, lock.key}, lock.shared);
}

}  // namespace tutti
