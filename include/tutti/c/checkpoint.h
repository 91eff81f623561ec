/// @file
/// Partial roll-back.
#pragma once

#include "tutti/c/base.h"

TUTTI_C_BEGIN

/// Sets a checkpoint and runs the rest of the transaction, `rest(tx, argument)`. If `rest` was the first to read
/// something that conflicts, only `rest` is rolled back and repeated. The transaction's actions before the checkpoint
/// stay.
///
///     static void transfer(tutti_tx* tx, void* argument) {
///         struct transfer* const t = argument;
///         withdraw(tx, t);
///         tutti_checkpoint(tx, deposit, t, NULL, 0);   // from here on nothing of the above is repeated
///     }
///
/// Checkpoints nest. After a conflict, the transaction goes back to the last checkpoint before the first invalid read,
/// or to the beginning if there is no such checkpoint. `rest` is a closed nested block. Every closed nested block is a
/// checkpoint while it runs. A block of this function also validates the transaction once more at its end. Code after
/// the call is not part of `rest`, so make the call the last action of the block. An irrevocable or visible transaction
/// rolls back as a whole.
///
/// A null `rest`, or null `locals` with nonzero `bytes`, is an error of use in the block that makes the call. If there
/// is no memory for the copy of `locals`, the block returns TUTTI_ERROR_MEMORY.
///
/// @param locals  memory of the caller that `rest` changes without the transaction, or null. The call copies the
/// contents of this memory, and restores them before each repetition of `rest`, whatever the reason of the repetition.
/// Other threads must not reach the memory, and it must live until the call has returned.
/// @param bytes   the size of `locals`, or 0. The copy is kept until the transaction ends.
/// @return TUTTI_COMMITTED when `rest` is done; TUTTI_CANCELLED if `rest` called `tutti_cancel`; or the error of
///         `rest`. In the last two cases `rest` had no effect, the transaction continues, and `locals` holds the values
///         that `rest` left there.
TUTTI_API int tutti_checkpoint(tutti_tx* tx, tutti_body* rest, void* argument, void* locals, size_t bytes);

TUTTI_C_END
