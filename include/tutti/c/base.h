/// @file
/// What every part of the C interface uses: the transaction's handle, results, and what errors say.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tutti/c/abort_causes.h"

#ifdef __cplusplus
#define TUTTI_C_BEGIN extern "C" {
#define TUTTI_C_END }
#define TUTTI_CONVERTED(type, value) static_cast<type>(value)
#define TUTTI_SAME_BITS(type, value) reinterpret_cast<type>(value)
#else
#define TUTTI_C_BEGIN
#define TUTTI_C_END
#define TUTTI_CONVERTED(type, value) ((type)(value))
#define TUTTI_SAME_BITS(type, value) ((type)(value))
#endif

#define TUTTI_API __attribute__((visibility("default")))
#define TUTTI_NORETURN __attribute__((noreturn))

TUTTI_C_BEGIN

/// A running transaction: proof that a call happens inside one. A block makes it and hands it to its body; it must not
/// be kept beyond the body nor used by another thread. In C++ it is a `tutti::tx`, see `tutti_tx_of`.
typedef struct tutti_tx tutti_tx;

/// The body of a block. `argument` is what the caller of the block passed.
typedef void tutti_body(tutti_tx* tx, void* argument);

/// What a block, and other calls that can fail, return.
enum tutti_result {
    TUTTI_COMMITTED = 0,    ///< done: all of the block's effects happened, at one instant
    TUTTI_CANCELLED,        ///< the block was left by `tutti_cancel`, without effect
    TUTTI_ERROR_USE,        ///< the interface was misused; the block had no effect. See `tutti_last_error`
    TUTTI_ERROR_MEMORY,     ///< memory for logs or handlers ran out; the block had no effect
    TUTTI_DEADLINE_MISSED,  ///< the deadline could not be met and the block refuses to be late; it had no effect
};

/// Says what the latest TUTTI_ERROR_USE or TUTTI_ERROR_MEMORY on this thread was about and what to do instead; empty
/// before the first. The text stays until the thread's next error.
TUTTI_API const char* tutti_last_error(void);

/// Names a result in a few words. Never null.
TUTTI_API const char* tutti_strerror(int result);

/// Why an attempt to run a block was rolled back: TUTTI_ABORT_VALIDATION and so on; tutti/c/abort_causes.h says what
/// each means.
typedef enum tutti_abort_cause {
#define TUTTI_ENUMERATOR(name, NAME) TUTTI_ABORT_##NAME,
    TUTTI_ABORT_CAUSES(TUTTI_ENUMERATOR)
#undef TUTTI_ENUMERATOR
} tutti_abort_cause;

/// The cause's name as statistics print it, `validation` for one. Never null.
TUTTI_API const char* tutti_abort_cause_name(tutti_abort_cause cause);

TUTTI_C_END
