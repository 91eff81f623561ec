/// @file
/// Partial roll-back.
#pragma once

#include "tutti/c/base.h"

TUTTI_C_BEGIN

/// Sets a checkpoint and runs the rest of the transaction, `rest(tx, argument)`. A conflict over something that `rest`
/// was the first to read rolls back and repeats `rest` alone: what the transaction did before the checkpoint stays.
///
///     static void transfer(tutti_tx* tx, void* argument) {
///         struct transfer* const t = argument;
///         withdraw(tx, t);
///         tutti_checkpoint(tx, deposit, t, NULL, 0);   // from here on nothing of the above is repeated
///     }
///
/// Checkpoints nest: a conflict goes back to the last one before the first read that has become invalid, or, without
/// one, to the beginning. `rest` is a closed nested block, and every such block is a checkpoint as long as it runs;
/// this one also validates the transaction once more when it is done. What follows the call is not part of `rest`: make
/// the call the last thing that the block does. An irrevocable or visible transaction rolls back as a whole.
///
/// @param locals  memory of the caller's that `rest` changes without the transaction, or null. What it holds at the
///                checkpoint is copied, and put back before each repetition of `rest`, whatever the reason of it. It
///                must be memory that other threads do not reach, and must live until the call has returned.
/// @param bytes   the size of `locals`; 0 if there are none. The copy is kept until the transaction ends.
/// @return TUTTI_COMMITTED when `rest` is done; TUTTI_CANCELLED when it called `tutti_cancel`, or its error: it then
///         had no effect, the transaction goes on, and `locals` holds what `rest` left there. A null `rest`, and null
///         `locals` of more than no bytes, are errors of use of the block that makes the call; if there is no memory
///         for the copy, that block returns TUTTI_ERROR_MEMORY.
TUTTI_API int tutti_checkpoint(tutti_tx* tx, tutti_body* rest, void* argument, void* locals, size_t bytes);

TUTTI_C_END
