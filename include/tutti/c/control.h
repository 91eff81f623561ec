/// @file
/// What a running transaction may do to itself: wait, choose, start over, give up, or turn irrevocable.
#pragma once

#include "tutti/c/base.h"

TUTTI_C_BEGIN

/// Rolls the transaction back and runs it again once another commit has changed something that it read. The thread
/// sleeps until then. Inside `tutti_or_else` it leaves to the next alternative first. An error of use when nothing
/// was read (nothing could ever wake it) and in an irrevocable transaction.
TUTTI_API TUTTI_NORETURN void tutti_retry(tutti_tx* tx);

/// As `tutti_retry`, but waits for at most `nanoseconds` in all, over every restart of this execution of the block;
/// then it returns, and what follows it is what to do when time is up. In an alternative that is not the last it does
/// not wait but leaves to the next one. With nothing read it sleeps for the whole time. Each call has a limit of its
/// own, which counts from when this execution first came to it.
TUTTI_API void tutti_retry_for(tutti_tx* tx, uint64_t nanoseconds);

/// Rolls back the innermost block and runs it again at once.
TUTTI_API TUTTI_NORETURN void tutti_restart(tutti_tx* tx);

/// Rolls back the innermost block and leaves it: it returns TUTTI_CANCELLED.
TUTTI_API TUTTI_NORETURN void tutti_cancel(tutti_tx* tx);

/// One way to go on; see `tutti_or_else`.
typedef struct tutti_alternative {
    tutti_body* body;
    void* argument;
} tutti_alternative;

/// Runs the first alternative; if it calls `tutti_retry`, rolls it back and runs the next one, and so on. If the last
/// one retries, the whole transaction waits until something changes that any of them read. Every alternative is a
/// closed nested block, but for `tutti_cancel`, which cancels the block that called `tutti_or_else`.
///
/// @return TUTTI_COMMITTED, or the error of the alternative that did not retry; that one then had no effect
TUTTI_API int tutti_or_else(tutti_tx* tx, const tutti_alternative* alternatives, size_t count);

/// From here on nothing but the block itself can abort the transaction, so that effects which cannot be undone are
/// safe. May restart the outermost block first. One transaction at a time is irrevocable; a second request waits.
/// Idempotent. `tutti_retry`, `tutti_restart` and `tutti_become_visible` are then errors of use; `tutti_cancel` still
/// rolls back memory.
///
/// @param reason  recorded at the block's site; a string that lives on (a literal), or null
TUTTI_API void tutti_become_irrevocable(tutti_tx* tx, const char* reason);
/// From here on readers of this transaction are visible. May restart the outermost block first. Idempotent.
TUTTI_API void tutti_become_visible(tutti_tx* tx);

/// Whether nothing but the block itself can abort it, because it asked for that. What the library does on its own, for
/// a deadline or after too many restarts, does not count: it promises the body nothing. Costs two loads.
TUTTI_API bool tutti_is_irrevocable(const tutti_tx* tx);
/// 1 in the first attempt of the outermost block, one more after each restart.
TUTTI_API unsigned tutti_attempt(const tutti_tx* tx);
/// Why the attempt before this one was rolled back; TUTTI_ABORT_NONE in the first.
TUTTI_API tutti_abort_cause tutti_last_abort(const tutti_tx* tx);

/// The transaction that this thread is running, or null: for callbacks that are not handed it.
TUTTI_API tutti_tx* tutti_current(void);

TUTTI_C_END
