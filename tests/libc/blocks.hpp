// Blocks that end as a test wants, of the language or of the library: each test is compiled once for either.
//
//   run(ending, [&] { fd = CALL(open, path, O_RDONLY, 0); })
//
// TUTTI_TEST_LIBRARY chooses the library. CALL(function, arguments...) calls the function of the C library in the block
// that runs. What a body finds out it leaves in variables around it, which a cancelled one of the language puts back.
#pragma once

#include <sched.h>

#include "language/expect.hpp"

#ifdef TUTTI_TEST_LIBRARY
#include <tutti/libc/functions.hpp>
#include <tutti/open_nesting.hpp>
#include <tutti/tutti.hpp>
#endif

enum class ending {
    commit,    ///< at once
    restarts,  ///< commits at the third attempt
    cancel,    ///< leaves no trace
    nested,    ///< a nested block does the same and is cancelled first; then commits
};

constexpr ending every_ending[] = {ending::commit, ending::restarts, ending::cancel, ending::nested};

inline thread_local int attempts_left = 0;
/// Others may run now.
#ifndef TUTTI_TEST_LIBRARY
[[gnu::transaction_pure, gnu::noinline]]
#endif
inline void let_others_run() {
    ::sched_yield();
}
/// Not undone by a restart.
#ifdef TUTTI_TEST_LIBRARY
inline bool goes_again() { return attempts_left-- > 0; }
#else
[[gnu::transaction_pure, gnu::noinline]] inline bool goes_again() { return attempts_left-- > 0; }
// Under a name that is not the one by which the compiler itself cancels a block.
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

/// Inside a block: a nested one that is cancelled.
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

/// Not a template: there GCC 12 takes a block for one that has no __transaction_cancel.
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
/// Inside a block: a nested one that is cancelled.
template <class Body>
void cancelled_within(const Body& body) transaction_safe {
    cancelled_block_within(call_body<Body>, &body);
}
#endif
