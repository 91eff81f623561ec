// The common part of the cases that `language_programs` runs, and the cases by file. Each returns, or prints the error
// and ends the process with status 1.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <thread>
#include <vector>

#include "another_context.hpp"
#include "barriers.hpp"
#include "expect.hpp"

extern "C" {
TUTTI_PURE void _ITM_addUserCommitAction(void (*)(void*), std::uint64_t, void*);
TUTTI_PURE int _ITM_inTransaction();
}

namespace language {

inline int certainly = 1;  // hidden from the compiler

template <class F>
void run_threads(int threads, F body) {
    std::vector<std::thread> crew;
    for (int t = 0; t != threads; ++t) crew.emplace_back(body, t);
    for (std::thread& t : crew) t.join();
}

/// The block of another_context.
inline void another() {
    static long runs = 0;
    __transaction_atomic { ++runs; }
}

inline int restarts_left = 0;
TUTTI_PURE inline void restart_some_times() {
    if (restarts_left == 0) return;
    --restarts_left;
    _ITM_abortTransaction(4);
}

// programs_exceptions.cpp
void exceptions();
void restarted_exceptions();
void exceptions_that_are_over();
void exceptions_under_contention();

// programs_direct.cpp
void turns();
void synchronized_blocks();
void static_initialisation();
void cancel_inside_irrevocable();
void cancel_too_late();

// programs_forms.cpp
void forms();
void thrown_out_of_noexcept();
void two_languages();

// programs_actions.cpp
void commit_order();
void undo_order();
void undo_by_blocks();

// programs_memory.cpp
void allocation();
void cancelled_deletes();
void thread_local_memory();
void copies();
void bit_fields();

// programs_process.cpp
void thread_exits();
void plugins(const char* file);

}  // namespace language
