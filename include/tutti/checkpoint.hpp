/// @file
/// Partial roll-back.
#pragma once

#include "tutti/atomically.hpp"

namespace tutti {

/// Sets a checkpoint and runs the rest of the transaction, `rest(tx&)`. Returns the result of `rest`. If `rest` was the
/// first to read something that conflicts, only `rest` is rolled back and repeated. The transaction's actions before
/// the checkpoint stay, and so do the values of locals, because `rest` uses them again.
///
///     atomically([&](tx& t) {
///         withdraw(t, from);
///         checkpoint(t, [&](tx& t) {   // from here on nothing of the above is repeated
///             deposit(t, to);
///         });
///     });
///
/// Checkpoints nest. After a conflict, the transaction goes back to the last checkpoint before the first invalid read,
/// or to the beginning if there is no such checkpoint. Every closed nested block is a checkpoint while it runs. At its
/// end, a block of this function also validates the transaction once more. So the transaction finds a conflict before
/// the commit, while the roll-back can still be partial. Code after the call is not part of `rest`, so make the call
/// the last action of the block.
///
/// Locals that `rest` changes by reference keep the change when `rest` is repeated, as in any restarted body. So let
/// `rest` work on copies. An irrevocable or visible transaction does not need checkpoints and rolls back as a whole.
///
/// After Koskinen and Herlihy, "Checkpoints and Continuations instead of Nested Transactions", SPAA 2008; Mishra,
/// "HyflowCPP", 2013, 5.3. A checkpoint costs as much as a nested block, and a validation at its end if other
/// transactions have committed.
template <class F>
    requires std::is_invocable_v<F&, tx&>
auto checkpoint(tx& t, F&& rest) {
    detail::require_body<F, tx&>();
    return detail::run_nested<false>(t, options{}, rest, true);
}

}  // namespace tutti
