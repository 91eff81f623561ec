/// @file
/// The basis of the C interface: the transaction's handle, results, and error texts.
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

/// The handle of a running transaction. A function that takes this handle can only be called inside a transaction. A
/// block creates the transaction and passes the handle to its body. Do not use the handle after the body has returned,
/// nor in another thread. In C++ the transaction is a `tutti::tx`: see `tutti::from_c` in tutti/c/interop.hpp.
typedef struct tutti_tx tutti_tx;

/// The body of a block. `argument` is the caller's argument.
typedef void tutti_body(tutti_tx* tx, void* argument);

/// The results of a block, and of other calls that can fail.
enum tutti_result {
    TUTTI_COMMITTED = 0,    ///< done: all effects of the block took place at one instant
    TUTTI_CANCELLED,        ///< `tutti_cancel` left the block, without effect
    TUTTI_ERROR_USE,        ///< the interface was misused; the block had no effect. See `tutti_last_error`
    TUTTI_ERROR_MEMORY,     ///< memory for logs or handlers ran out; the block had no effect
    TUTTI_DEADLINE_MISSED,  ///< the block could not meet its deadline and refuses to be late; it had no effect
};

/// Returns a text that describes the latest TUTTI_ERROR_USE or TUTTI_ERROR_MEMORY on this thread, and says what to do
/// instead. The text is empty before the first error, and stays until the thread's next error.
TUTTI_API const char* tutti_last_error(void);

/// Returns the name of a result in a few words. Never returns null.
TUTTI_API const char* tutti_strerror(int result);

/// The cause of an attempt's roll-back: TUTTI_ABORT_VALIDATION and so on. tutti/c/abort_causes.h explains each cause.
typedef enum tutti_abort_cause {
#define TUTTI_ENUMERATOR(name, NAME) TUTTI_ABORT_##NAME,
    TUTTI_ABORT_CAUSES(TUTTI_ENUMERATOR)
#undef TUTTI_ENUMERATOR
} tutti_abort_cause;

/// Returns the cause's name as in statistics, for example `validation`. Never returns null.
TUTTI_API const char* tutti_abort_cause_name(tutti_abort_cause cause);

TUTTI_C_END
