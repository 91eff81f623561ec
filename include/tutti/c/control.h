/// @file
/// Actions of a running transaction on itself: wait, choose, restart, cancel, or become irrevocable.
#pragma once

#include "tutti/c/base.h"

TUTTI_C_BEGIN

/// Rolls the transaction back. Runs the transaction again once another commit has changed something that the
/// transaction has read; the thread sleeps until then. Inside `tutti_or_else`, the next alternative runs first. This
/// call is an error of use in an irrevocable transaction. In a transaction that has read nothing, it is also an error
/// of use, because nothing could ever wake the transaction.
TUTTI_API TUTTI_NORETURN void tutti_retry(tutti_tx* tx);

/// Waits as `tutti_retry` does, but for at most `nanoseconds` in all, over every restart of this execution of the
/// block. Then the function returns, and the code after it handles the timeout. In an alternative that is not the last
/// one, the function does not wait: the next alternative runs instead. If the transaction has read nothing, the
/// function sleeps for the whole time. Each call has its own limit, which counts from the time at which this execution
/// first reached the call.
TUTTI_API void tutti_retry_for(tutti_tx* tx, uint64_t nanoseconds);

/// Rolls back the innermost block and runs it again at once.
TUTTI_API TUTTI_NORETURN void tutti_restart(tutti_tx* tx);

/// Rolls back the innermost block and leaves it. The block returns TUTTI_CANCELLED.
TUTTI_API TUTTI_NORETURN void tutti_cancel(tutti_tx* tx);

/// One of the alternatives of `tutti_or_else`.
typedef struct tutti_alternative {
    tutti_body* body;
    void* argument;
} tutti_alternative;

/// Runs the first alternative. If an alternative calls `tutti_retry`, rolls it back and runs the next one. If the last
/// alternative retries, the whole transaction waits until another commit changes something that any alternative has
/// read. Every alternative is a closed nested block, but its `tutti_cancel` cancels the block that called
/// `tutti_or_else`.
///
/// @return TUTTI_COMMITTED, or the error of the alternative that did not retry; that alternative then had no effect
TUTTI_API int tutti_or_else(tutti_tx* tx, const tutti_alternative* alternatives, size_t count);

/// From here on, only the block itself can abort the transaction, so the block may have effects that cannot be undone.
/// The call may first restart the outermost block. One transaction at a time is irrevocable, and a second request
/// waits. Idempotent. Afterwards `tutti_retry`, `tutti_restart` and `tutti_become_visible` are errors of use.
/// `tutti_cancel` still rolls back memory.
///
/// @param reason  recorded at the block's site; a string that lives as long as the program, such as a literal, or null
TUTTI_API void tutti_become_irrevocable(tutti_tx* tx, const char* reason);
/// From here on, this transaction's reads are visible. The call may first restart the outermost block. Idempotent.
TUTTI_API void tutti_become_visible(tutti_tx* tx);

/// Returns true if only the block itself can abort the transaction, because the block has requested irrevocability.
/// Returns false if the library made the transaction irrevocable on its own, for a deadline or after too many restarts.
/// The body must not rely on irrevocability that it did not request. Costs two loads.
TUTTI_API bool tutti_is_irrevocable(const tutti_tx* tx);
/// Returns 1 in the first attempt of the outermost block, and one more after each restart.
TUTTI_API unsigned tutti_attempt(const tutti_tx* tx);
/// Returns the cause of the previous attempt's roll-back; TUTTI_ABORT_NONE in the first attempt.
TUTTI_API tutti_abort_cause tutti_last_abort(const tutti_tx* tx);

/// Returns the transaction that this thread runs, or null. Callbacks that do not receive the transaction can use this
/// function.
TUTTI_API tutti_tx* tutti_current(void);

TUTTI_C_END
