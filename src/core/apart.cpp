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
    return (outer.troubles & ~trouble_timed) == 0 && !outer.unwinding() && !outer.is_irrevocable();
}

void heed_enclosers(descriptor& d) {
    if (!may_restart_encloser(d)) return;
    for (const descriptor* o = d.outer; o != nullptr; o = o->outer) {
        if (!o->running() || !o->asked_to_die()) continue;
        abandon_execution(d);
        abort_attempt(*d.outer, abort_cause::killed);
    }
}

void back_off_apart(descriptor& d) {
    heed_enclosers(d);
    if (d.run.attempt % attempts_apart == 0 && may_restart_encloser(d)) {
        const abort_cause cause = d.run.last_cause;
        abandon_execution(d);
        abort_attempt(*d.outer, cause);
    }
    back_off(d);
}

}  // namespace tutti::core

namespace tutti::detail {

using core::descriptor;

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
