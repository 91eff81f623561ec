#include "core/lifecycle/open_nesting.hpp"

#include <utility>

#include "core/lifecycle/access_check.hpp"
#include "core/lifecycle/registry.hpp"
#include "core/modes/deadline.hpp"
#include "core/ports/algorithm.hpp"
#include "core/rollback/signal.hpp"
#include "tutti/open_nesting.hpp"

namespace tutti::core {
descriptor& enter_open_nested(descriptor& outer) {
    if (outer.inner == nullptr) {
        outer.inner = &acquire_descriptor();
        outer.inner->outer = &outer;
        if (outer.hooks != nullptr) make_preemptable(*outer.inner, *outer.hooks);
    }
    // Copied each time, because the context may have moved to another thread since the descriptor was made.
    outer.inner->exceptions = outer.exceptions;
    if (outer.frame_ != nullptr) outer.inner->masked_jump = std::exchange(outer.frame_->jump, nullptr);
    outer.inner->threw_after_commit = false;
    const std::uint32_t under_locks = outer.undoes_under_locks.load(std::memory_order_relaxed);
    outer.inner->undoes_under_locks.store(under_locks, std::memory_order_relaxed);
    detail::current_transaction = outer.inner;
    return *outer.inner;
}

void leave_open_nested(descriptor& outer) noexcept {
    // A block that an undo action of the outer transaction has opened does not count, because it leaves nothing to
    // undo.
    if (outer.running() && (outer.slow_path & slow_path_frozen) == 0) {
        outer.run.opened_in = outer.run.attempt;
        outer.slow_commit |= slow_commit_restarted;  // so that `run` is reset
    }
    detail::current_transaction = &outer;
    if (outer.frame_ != nullptr) outer.frame_->jump = std::exchange(outer.inner->masked_jump, nullptr);
}

}  // namespace tutti::core

namespace tutti::detail {

using core::descriptor;

bool threw_after_open_nested_commit(const tx& t) noexcept {
    return static_cast<const descriptor&>(t).inner->threw_after_commit;
}

void allow_restart(tx& t) noexcept { descriptor::of(t).run.irrevocable_only_to_commit = true; }

bool nests_closed(tx& t) {
    descriptor& d = descriptor::of(t);
    if (!d.healthy()) core::check_access(d);
    core::leave_hardware(d, hardware_abort::software);    // hardware would undo the inner commit with the outer attempt
    if (d.reads_snapshot()) core::need_current_reads(d);  // d may read what the nested block has committed
    if (d.algorithm->one_at_a_time) return true;
    core::keep_nesting_open(d);
    // Either all nested blocks of an attempt are open, or all are closed. The reason: a closed block owns its writes
    // until the attempt ends, and the undo of an earlier open block may need the same data.
    return d.is_irrevocable() && d.run.opened_in != d.run.attempt;
}

tx& enter_open_nested(tx& t) { return core::enter_open_nested(descriptor::of(t)); }
void leave_open_nested(tx& t) noexcept { core::leave_open_nested(descriptor::of(t)); }

}  // namespace tutti::detail
