/// @file
/// Partial roll-back.
#pragma once

#include "tutti/atomically.hpp"

namespace tutti {

/// Sets a checkpoint and runs the rest of the transaction, which the caller passes as `rest(tx&)`; returns what it
/// returns. A conflict over something that `rest` was the first to read rolls back and repeats `rest` alone: what
/// the transaction did before the checkpoint stays, locals included, because `rest` starts from them again.
///
///     atomically([&](tx& t) {
///         withdraw(t, from);
///         checkpoint(t, [&](tx& t) {   // from here on nothing of the above is repeated
///             deposit(t, to);
///         });
///     });
///
/// Checkpoints nest: a conflict goes back to the last one before the first read that has become invalid, or, without
/// one, to the beginning. Every closed nested block is a checkpoint as long as it runs; one set by this function also
/// validates the transaction once more when `rest` is done, so that a conflict that came to light at commit finds a
/// way back, too. What follows the call is not part of `rest`: make the call the last thing that the block does.
///
/// Locals that `rest` changes by reference keep the change when it is repeated, as in any restarted body: let it work
/// on copies. An irrevocable or visible transaction has no need of checkpoints and rolls back as a whole.
///
/// After Koskinen and Herlihy, "Checkpoints and Continuations instead of Nested Transactions", SPAA 2008; Mishra,
/// "HyflowCPP", 2013, 5.3. Setting one costs a nested block and, at its end, a validation if others have committed.
template <class F>
    requires std::is_invocable_v<F&, tx&>
auto checkpoint(tx& t, F&& rest) {
    detail::require_body<F, tx&>();
    return detail::run_nested<false>(t, options{}, rest, true);
}

}  // namespace tutti
