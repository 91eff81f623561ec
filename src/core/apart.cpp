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
    if (outer.frame_ != nullptr) outer.inner->masked_jump = std::exchange(outer.frame_->jump, nullptr);
    detail::current_transaction = outer.inner;
    return *outer.inner;
}

void leave_apart(descriptor& outer) noexcept {
    detail::current_transaction = &outer;
    if (outer.frame_ != nullptr) outer.frame_->jump = std::exchange(outer.inner->masked_jump, nullptr);
}

void back_off_apart(descriptor& d) {
    descriptor& outer = *d.outer;
    const bool sound = (outer.troubles & ~trouble_timed) == 0 && !outer.asked_to_die() && !outer.unwinding();
    if (d.run.attempt % attempts_apart == 0 && sound && !outer.is_irrevocable()) {
        const abort_cause cause = d.run.last_cause;
        abandon_execution(d);
        abort_attempt(outer, cause);
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
