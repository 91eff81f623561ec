/// @file
/// Code that runs at fixed points of a transaction's end, and parties that commit with it or not at all.
///
/// Handlers run in the order of registration, `tutti_on_abort` newest first. What a block registered is forgotten when
/// the block is rolled back (its on_abort handlers run then). Registering may find no memory: the innermost block is
/// then rolled back and returns TUTTI_ERROR_MEMORY.
#pragma once

#include "tutti/c/base.h"

TUTTI_C_BEGIN

/// Runs before the transaction prepares to commit. It may read and write transactionally, register further handlers
/// (which run too), and end the transaction: `tutti_cancel`, `tutti_restart`, `tutti_retry`.
TUTTI_API void tutti_before_commit(tutti_tx* tx, tutti_body* handler, void* argument);
/// Runs when the decision to commit is made and ownership is still held, so that effects happen in the order of the
/// data they depend on. It must not touch any transaction; a block started in it returns TUTTI_ERROR_USE.
TUTTI_API void tutti_at_commit(tutti_tx* tx, void (*handler)(void* argument), void* argument);
/// Runs after the commit, when nothing is held any more. It may do anything but touch this transaction.
TUTTI_API void tutti_on_commit(tutti_tx* tx, void (*handler)(void* argument), void* argument);
/// Runs after the block that registered it was rolled back. The body's locals are gone by then.
TUTTI_API void tutti_on_abort(tutti_tx* tx, void (*handler)(tutti_abort_cause cause, void* argument), void* argument);

/// What a participant answers when it is asked whether the transaction may commit.
typedef enum tutti_vote {
    TUTTI_VOTE_COMMIT,   ///< yes, and from now on it cannot refuse
    TUTTI_VOTE_RESTART,  ///< no: roll back and run again
    TUTTI_VOTE_CANCEL,   ///< no: roll back and leave; the block returns TUTTI_CANCELLED
} tutti_vote;

/// Something outside the engine that commits with a transaction or not at all (two-phase commit).
typedef struct tutti_participant {
    /// Runs after the engine's own prepare: every record that the transaction wrote is owned, every read is valid. It
    /// must not touch the transaction.
    tutti_vote (*prepare)(void* argument);
    /// Runs once the decision is made, while ownership is still held. It must not fail.
    void (*commit)(void* argument);
    /// Runs for every participant whose `prepare` was called when the decision is to abort. It must not fail.
    void (*abort)(void* argument);
} tutti_participant;

/// Makes the commit of this attempt depend on a participant. Participants are asked in the order in which they
/// joined. The structure is copied; what `argument` points to must outlive the attempt.
TUTTI_API void tutti_join(tutti_tx* tx, const tutti_participant* participant, void* argument);

TUTTI_C_END
