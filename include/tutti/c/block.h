/// @file
/// Atomic blocks in C.
///
/// A body may run several times. A body always sees a consistent state, even in an attempt that will be rolled back.
/// Only the transactional effects of the last attempt take place. Inside the body:
///
/// - Access shared memory only through the calls that take the transaction.
/// - A restart leaves the body with a jump out of such a call. The resources of the body at that moment (memory from
///   plain malloc, an open file, a lock) are not released. Use `tutti_malloc` and `tutti_on_abort`, or release such
///   resources after the block.
/// - Ordinary memory that the body has written through `argument` keeps its contents after a restart. So a body must
///   not expect the values that an earlier attempt found there.
///
/// You can mix these calls with C++. A jump must not skip C++ frames with destructors. Between a C block and a call
/// that may restart it, C++ code may have locals with destructors only inside a `tutti::atomically` of its own. C code
/// that C++ blocks call must have unwind tables; compilers for x86-64 and AArch64 emit them by default.
#pragma once

#include "tutti/c/base.h"
#include "tutti/c/policies.h"

TUTTI_C_BEGIN

/// The protection of a block's reads. Of the first three modes, each is stricter and more expensive than the one
/// before.
enum tutti_mode {
    TUTTI_OPTIMISTIC,   ///< reads are invisible and validated
    TUTTI_VISIBLE,      ///< readers mark the orecs that they read
    TUTTI_IRREVOCABLE,  ///< other transactions cannot abort it; one such transaction at a time
    TUTTI_SNAPSHOT,     ///< reads return the values of the time at which the block began, so writers never make the
                        ///< block restart; the block must not write
};

/// Whether code may access plain memory directly after a commit has made the memory private.
enum tutti_privatization {
    TUTTI_PRIVATIZATION_SAFE,    ///< yes: the commit waits for transactions that could still see the memory
    TUTTI_PRIVATIZATION_WAIVED,  ///< no: the block privatizes nothing, or the caller waits in its own way
};

/// The kind of a block inside another one.
enum tutti_nesting {
    TUTTI_NESTING_CLOSED,  ///< the block can cancel, restart or fail alone, and its parent continues
    TUTTI_NESTING_FLAT,    ///< the block is part of its parent: an abort of the block aborts the parent
};

/// The fate of a block whose deadline cannot be met, because it has passed or is nearer than the block's usual
/// duration. The library checks this before every attempt.
enum tutti_missed_deadline {
    TUTTI_RUN_ANYWAY,       ///< the block runs, and reads visibly after a roll-back
    TUTTI_RUN_IRREVOCABLE,  ///< the block runs irrevocably, to be late by as little as possible
    TUTTI_REFUSE,           ///< the block returns TUTTI_DEADLINE_MISSED, without effect
};

/// The rule that decides which of two conflicting blocks gives way: TUTTI_POLICY_PATIENT and so on. tutti/c/policies.h
/// explains each policy.
enum tutti_policy {
    TUTTI_POLICY_STANDARD,  ///< the process's policy: tutti_use_policy, the environment variable TUTTI_POLICY, or
                            ///< patient
#define TUTTI_ENUMERATOR(name, NAME) TUTTI_POLICY_##NAME,
    TUTTI_POLICIES(TUTTI_ENUMERATOR)
#undef TUTTI_ENUMERATOR
};

/// The outcome of a block with a deadline.
typedef struct tutti_deadline_outcome {
    bool committed;  ///< false: the other members are meaningless
    bool met;
    int mode;      ///< the tutti_mode of the commit
    int64_t left;  ///< nanoseconds from the commit to the deadline; negative if the block was late
} tutti_deadline_outcome;

/// The options of a block. The defaults are all zero, except for `struct_size`.
typedef struct tutti_options {
    /// sizeof(tutti_options) in the caller's compilation, so that the structure can grow.
    size_t struct_size;
    /// The block's name in statistics. The string must live as long as the program, as a literal does. May be null.
    const char* name;
    /// Promises that the block writes nothing. A write is an error of use.
    bool read_only;
    /// A tutti_mode: the mode in which the block starts.
    int mode;
    /// A tutti_privatization.
    int privatization;
    /// A tutti_nesting, used only if the block runs inside another one.
    int nesting;
    /// Nanoseconds from the call until the outermost block should have committed. 0: no deadline. As the deadline comes
    /// nearer, attempts become stricter. The time that is left is measured in usual durations of the block.
    uint64_t deadline;
    /// The deadline as a point in time of CLOCK_MONOTONIC, in nanoseconds. Time that passes before the call counts,
    /// too. Set only one of `deadline` and `deadline_at`.
    uint64_t deadline_at;
    /// The share of executions that should be in time, between 0 and 1. The library expects the block to take this
    /// percentile of its past durations. 0: 0.99. In this member and in those below, a value out of range is an error
    /// of use.
    double qos;
    /// A tutti_missed_deadline.
    int when_missed;
    /// Size of the sample of past durations in each mode, up to 4096. The site's first block with a deadline sets the
    /// size. 0: 128.
    unsigned deadline_samples;
    /// The distances from the deadline, in expected durations, at which attempts begin to read visibly and to be
    /// irrevocable. 0: the distances are 6 and 4, and Tutti also measures whether the stricter modes help. If you set
    /// other factors, Tutti does not measure this. The second factor is at least 1 and at most the first. If both are
    /// 1, attempts become stricter only when the deadline can no longer be met.
    double visible_factor;
    double irrevocable_factor;
    /// The place for the outcome, or null.
    tutti_deadline_outcome* outcome;
    /// A tutti_policy. Only an outermost block uses its policy and priority.
    int policy;
    /// The priority for TUTTI_POLICY_PRIORITY: the higher one wins. May be negative.
    int priority;
} tutti_options;

/// Initializes a tutti_options to the defaults: `tutti_options how = TUTTI_OPTIONS_INIT;`.
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
/// Makes options in place: `tutti_atomically(&TUTTI_OPTIONS(.name = "audit", .read_only = true), audit, &bank)`.
#define TUTTI_OPTIONS(...) ((tutti_options){.struct_size = sizeof(tutti_options), __VA_ARGS__})
#endif

/// A block's place in the source, for statistics: a static object, one for each call.
typedef struct tutti_site {
    void* slot;  ///< used by the library; null at first
    const char* file;
    const char* function;
    unsigned line;
} tutti_site;

/// Runs `body(tx, argument)` as a transaction: all of its transactional effects happen at one instant, or none do.
/// Inside another transaction the block is nested (see tutti_nesting). A C++ exception that leaves the body rolls the
/// block back and continues to the caller. The library's own exceptions and std::bad_alloc become results instead.
///
/// @param how  null for the defaults
/// @return TUTTI_COMMITTED; TUTTI_CANCELLED after `tutti_cancel` or a participant's vote to cancel;
///         TUTTI_DEADLINE_MISSED; TUTTI_ERROR_USE or TUTTI_ERROR_MEMORY, with a text in `tutti_last_error`
TUTTI_API int tutti_atomically(const tutti_options* how, tutti_body* body, void* argument);

/// Runs a block with the caller's place in the source. Callers that cannot use macros call the function
/// `tutti_atomically`, which records no place.
TUTTI_API int tutti_atomically_at(tutti_site* site, const tutti_options* how, tutti_body* body, void* argument);

/// Replaces a call of `tutti_atomically` by a call of `tutti_atomically_at` with the place of the call.
/// `(tutti_atomically)(...)` calls the plain function.
#define tutti_atomically(how, body, argument)                                 \
    (__extension__({                                                          \
        static tutti_site tutti_here_ = {NULL, __FILE__, __func__, __LINE__}; \
        tutti_atomically_at(&tutti_here_, (how), (body), (argument));         \
    }))

TUTTI_C_END
