/// @file
/// Atomic blocks in C.
///
/// A body may run several times. It always sees a consistent state, even in an attempt that will be rolled back, and
/// only the last attempt's transactional effects happen. Inside the body:
///
/// - reach shared memory only through the calls that take the transaction;
/// - a restart leaves the body with a jump out of such a call. Whatever the body holds then (memory from plain malloc,
///   an open file, a lock) stays held: use `tutti_malloc` and `tutti_on_abort`, or do it after the block;
/// - ordinary memory that the body wrote through `argument` keeps what was written, so a body must not count on what
///   an earlier attempt found there.
///
/// Calls may be mixed with C++. C++ frames with destructors must not be jumped over: between a C block and the call
/// that may restart it, C++ code holds such locals only inside a `tutti::atomically` of its own. C code that C++
/// blocks call must have unwind tables; compilers for x86-64 and AArch64 emit them unless told not to.
#pragma once

#include "tutti/c/base.h"
#include "tutti/c/policies.h"

TUTTI_C_BEGIN

/// How a block's reads are protected; each is stricter and dearer than the one before.
enum tutti_mode {
    TUTTI_OPTIMISTIC,   ///< reads are invisible and validated
    TUTTI_VISIBLE,      ///< readers mark what they read
    TUTTI_IRREVOCABLE,  ///< cannot be aborted by others; one transaction at a time
};

/// Whether plain memory that a commit made private may be touched directly right after it.
enum tutti_privatization {
    TUTTI_PRIVATIZATION_SAFE,    ///< yes: the commit waits for the transactions that could still see it
    TUTTI_PRIVATIZATION_WAIVED,  ///< no: the block privatizes nothing, or the caller waits in its own way
};

/// What a block inside another one is.
enum tutti_nesting {
    TUTTI_NESTING_CLOSED,  ///< it can cancel, restart or fail alone, and its parent goes on
    TUTTI_NESTING_FLAT,    ///< it is part of its parent: whatever aborts it aborts the parent
};

/// What becomes of a block whose deadline cannot be met: it has passed, or is nearer than the block usually takes.
/// Asked before every attempt.
enum tutti_missed_deadline {
    TUTTI_RUN_ANYWAY,       ///< it runs, and reads visibly if it is rolled back
    TUTTI_RUN_IRREVOCABLE,  ///< it runs irrevocably, to be late by as little as possible
    TUTTI_REFUSE,           ///< it returns TUTTI_DEADLINE_MISSED, without effect
};

/// Who gives way when two blocks meet: TUTTI_POLICY_PATIENT and so on; tutti/c/policies.h says what each does.
enum tutti_policy {
    TUTTI_POLICY_STANDARD,  ///< the process's: tutti_use_policy, the environment variable TUTTI_POLICY, or patient
#define TUTTI_ENUMERATOR(name, NAME) TUTTI_POLICY_##NAME,
    TUTTI_POLICIES(TUTTI_ENUMERATOR)
#undef TUTTI_ENUMERATOR
};

/// How a block with a deadline ended.
typedef struct tutti_deadline_outcome {
    bool committed;  ///< false: the rest says nothing
    bool met;
    int mode;      ///< the tutti_mode that it committed in
    int64_t left;  ///< nanoseconds from the commit to the deadline; negative when it was late
} tutti_deadline_outcome;

/// The options of a block. All zero but for `struct_size` is the default.
typedef struct tutti_options {
    /// sizeof(tutti_options) as the caller was compiled, so that the structure can grow.
    size_t struct_size;
    /// Names the block in statistics; must live as long as the program (a literal does). May be null.
    const char* name;
    /// Promises that the block writes nothing. A write is an error of use.
    bool read_only;
    /// A tutti_mode: the one that the block starts in.
    int mode;
    /// A tutti_privatization.
    int privatization;
    /// A tutti_nesting; only looked at when the block runs inside another one.
    int nesting;
    /// By when the outermost block should have committed: nanoseconds from the call. 0: no deadline. The nearer it is,
    /// measured in usual durations of the block, the stricter its attempts.
    uint64_t deadline;
    /// The same as a point in time of CLOCK_MONOTONIC, in nanoseconds, which also counts what passed before the call.
    /// Give one of the two.
    uint64_t deadline_at;
    /// The share of executions that should be in time, between 0 and 1: the percentile of past durations that the block
    /// is expected to take. 0: 0.99. A value out of range is an error of use, as is one of the members below.
    double qos;
    /// A tutti_missed_deadline.
    int when_missed;
    /// Size of the sample of past durations in each mode, up to 4096. The site's first block with a deadline decides.
    /// 0: 128.
    unsigned deadline_samples;
    /// 0: 6 and 4, and Tutti measures where strictness pays. Other factors decide alone: attempts read visibly, or are
    /// irrevocable, from that many expected durations before the deadline on. The second factor is at least 1 and at
    /// most the first. Where both are 1, no attempt becomes stricter before the deadline can no longer be met.
    double visible_factor;
    double irrevocable_factor;
    /// Where to write how it ended, or null.
    tutti_deadline_outcome* outcome;
    /// A tutti_policy; only looked at in an outermost block, as is the priority.
    int policy;
    /// Under TUTTI_POLICY_PRIORITY: the higher wins. May be negative.
    int priority;
} tutti_options;

/// Initialises a tutti_options to the defaults: `tutti_options how = TUTTI_OPTIONS_INIT;`.
#define TUTTI_OPTIONS_INIT     \
    {sizeof(tutti_options),    \
     NULL,                     \
     false,                    \
     TUTTI_OPTIMISTIC,         \
     TUTTI_PRIVATIZATION_SAFE, \
     TUTTI_NESTING_CLOSED,     \
     0,                        \
     0,                        \
     0,                        \
     TUTTI_RUN_ANYWAY,         \
     0,                        \
     0,                        \
     0,                        \
     NULL,                     \
     TUTTI_POLICY_STANDARD,    \
     0}

#ifndef __cplusplus
/// Options in place: `tutti_atomically(&TUTTI_OPTIONS(.name = "audit", .read_only = true), audit, &bank)`.
#define TUTTI_OPTIONS(...) ((tutti_options){.struct_size = sizeof(tutti_options), __VA_ARGS__})
#endif

/// A block's place in the source, for statistics: a static object, one for each call.
typedef struct tutti_site {
    void* slot;  ///< the library's; null at first
    const char* file;
    const char* function;
    unsigned line;
} tutti_site;

/// Runs `body(tx, argument)` as a transaction: all of its transactional effects happen at one instant, or none do.
/// Inside another transaction the block is a nested one (see tutti_nesting).
///
/// @param how  null for the defaults
/// @return TUTTI_COMMITTED; TUTTI_CANCELLED after `tutti_cancel` or a participant's vote to cancel;
///         TUTTI_DEADLINE_MISSED; TUTTI_ERROR_USE or TUTTI_ERROR_MEMORY, with a text in `tutti_last_error`. A C++
///         exception that leaves the body rolls the block back and goes on to the caller, but for the library's own and
///         std::bad_alloc, which become results.
TUTTI_API int tutti_atomically(const tutti_options* how, tutti_body* body, void* argument);

/// The same with the caller's place in the source. The function without it is for callers that have no macros.
TUTTI_API int tutti_atomically_at(tutti_site* site, const tutti_options* how, tutti_body* body, void* argument);

/// What a call in the source means: the block with its own place. `(tutti_atomically)(...)` is the plain function.
#define tutti_atomically(how, body, argument)                                 \
    (__extension__({                                                          \
        static tutti_site tutti_here_ = {NULL, __FILE__, __func__, __LINE__}; \
        tutti_atomically_at(&tutti_here_, (how), (body), (argument));         \
    }))

TUTTI_C_END
