/// @file
/// Handlers that run at fixed points of a transaction's end, and participants that commit with a transaction or not at
/// all.
///
/// Handlers run in the order of registration; `tutti_on_abort` handlers run newest first. A roll-back of a block
/// discards the handlers that the block registered, and runs its on_abort handlers. If memory for a registration runs
/// out, the innermost block is rolled back and returns TUTTI_ERROR_MEMORY.
#pragma once

#include "tutti/c/base.h"

TUTTI_C_BEGIN

/// Registers a handler that runs before the transaction prepares to commit. The handler may read and write
/// transactionally, and may register further handlers, which also run. The handler may end the transaction:
/// `tutti_cancel`, `tutti_restart`, `tutti_retry`.
TUTTI_API void tutti_before_commit(tutti_tx* tx, tutti_body* handler, void* argument);
/// Registers a handler that runs when the decision to commit is made and ownership is still held. So the effects of
/// handlers happen in the same order as the commits of the data on which they depend. The handler must not touch any
/// transaction; a block that it starts returns TUTTI_ERROR_USE.
TUTTI_API void tutti_at_commit(tutti_tx* tx, void (*handler)(void* argument), void* argument);
/// Registers a handler that runs after the commit, when the transaction has released everything that it owned. The
/// handler may do anything except touch this transaction.
TUTTI_API void tutti_on_commit(tutti_tx* tx, void (*handler)(void* argument), void* argument);
/// Registers a handler that runs after the roll-back of the block that registered it. The body's locals are gone by
/// then.
TUTTI_API void tutti_on_abort(tutti_tx* tx, void (*handler)(tutti_abort_cause cause, void* argument), void* argument);

/// A participant's vote on the commit of the transaction.
typedef enum tutti_vote {
    TUTTI_VOTE_COMMIT,   ///< yes; the participant cannot refuse from now on
    TUTTI_VOTE_RESTART,  ///< no: roll back and run again
    TUTTI_VOTE_CANCEL,   ///< no: roll back and leave; the block returns TUTTI_CANCELLED
} tutti_vote;

/// A party outside the engine that commits with a transaction or not at all (two-phase commit).
typedef struct tutti_participant {
    /// Runs after the engine's own prepare: the transaction owns every record that it wrote, and every read is valid.
    /// The function must not touch the transaction.
    tutti_vote (*prepare)(void* argument);
    /// Runs once the decision to commit is made, while ownership is still held. The function must not fail.
    void (*commit)(void* argument);
    /// Runs if the decision is to abort, for every participant whose `prepare` was called. The function must not fail.
    void (*abort)(void* argument);
} tutti_participant;

/// Makes the commit of this attempt depend on a participant. Participants vote in the order in which they joined. The
/// call copies `*participant`. `*argument` must outlive the attempt.
TUTTI_API void tutti_join(tutti_tx* tx, const tutti_participant* participant, void* argument);

TUTTI_C_END
