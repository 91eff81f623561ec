// Blocks of the language or of the library that end as a test wants. Each test is compiled once for each kind.
//
//   run(ending, [&] { fd = CALL(open, path, O_RDONLY, 0); })
//
// TUTTI_TEST_LIBRARY selects the library. CALL(function, arguments...) calls the C library function in the running
// block. A body stores its results in variables around it; a cancelled block of the language restores them.
#pragma once

#include <sched.h>

#include "language/expect.hpp"

#ifdef TUTTI_TEST_LIBRARY
#include <tutti/libc/functions.hpp>
#include <tutti/open_nesting.hpp>
#include <tutti/tutti.hpp>
#endif

enum class ending {
    commit,    ///< at the first attempt
    restarts,  ///< commits at the third attempt
    cancel,    ///< cancels, without effect
    nested,    ///< a nested block runs the same body and is cancelled; then the block commits
};

constexpr ending every_ending[] = {ending::commit, ending::restarts, ending::cancel, ending::nested};

inline thread_local int attempts_left = 0;
/// Lets other threads run.
#ifndef TUTTI_TEST_LIBRARY
[[gnu::transaction_pure, gnu::noinline]]
#endif
inline void let_others_run() {
    ::sched_yield();
}
/// A restart does not undo this counter.
#ifdef TUTTI_TEST_LIBRARY
inline bool goes_again() { return attempts_left-- > 0; }
#else
[[gnu::transaction_pure, gnu::noinline]] inline bool goes_again() { return attempts_left-- > 0; }
// Under another name than the one by which the compiler itself cancels a block.
extern "C" [[gnu::transaction_pure]] void restart_block(unsigned) noexcept __asm__("_ITM_abortTransaction");
#endif

#ifdef TUTTI_TEST_LIBRARY
#define CALL(function, ...) (tutti::libc::function(*tutti::detail::current_transaction __VA_OPT__(, ) __VA_ARGS__))

template <class Body>
void run(ending e, const Body& body) {
    attempts_left = e == ending::restarts ? 2 : 0;
    try {
        tutti::atomically([&](tutti::tx& t) {
            if (e == ending::nested) {
                try {
                    tutti::atomically([&](tutti::tx& inner) {
                        body();
                        tutti::cancel(inner);
                    });
                } catch (const tutti::cancelled&) {}
            }
            body();
            if (e == ending::cancel) tutti::cancel(t);
            if (e == ending::restarts && goes_again()) tutti::restart(t);
        });
    } catch (const tutti::cancelled&) {}
}

/// Runs the body in a nested block that is cancelled. REQUIRES: the caller is inside a block.
template <class Body>
void cancelled_within(const Body& body) {
    try {
        tutti::atomically([&](tutti::tx& inner) {
            body();
            tutti::cancel(inner);
        });
    } catch (const tutti::cancelled&) {}
}
#else
#define CALL(function, ...) (function(__VA_ARGS__))

using safe_body = void (*)(const void*) transaction_safe;

/// Not a template: in a template, GCC 12 treats the block as one without __transaction_cancel.
[[gnu::noinline]] inline void run_block(ending e, safe_body body, const void* of) {
    attempts_left = e == ending::restarts ? 2 : 0;
    __transaction_atomic {
        if (e == ending::nested) {
            __transaction_atomic {
                body(of);
                __transaction_cancel;
            }
        }
        body(of);
        if (e == ending::restarts && goes_again()) restart_block(4);
        if (e == ending::cancel) __transaction_cancel;
    }
}

template <class Body>
void call_body(const void* body) transaction_safe {
    (*static_cast<const Body*>(body))();
}

template <class Body>
void run(ending e, const Body& body) {
    run_block(e, call_body<Body>, &body);
}

[[gnu::noinline]] inline void cancelled_block_within(safe_body body, const void* of) transaction_safe {
    __transaction_atomic {
        body(of);
        __transaction_cancel;
    }
}
/// Runs the body in a nested block that is cancelled. REQUIRES: the caller is inside a block.
template <class Body>
void cancelled_within(const Body& body) transaction_safe {
    cancelled_block_within(call_body<Body>, &body);
}
#endif
