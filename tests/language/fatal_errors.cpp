// Errors that end the program with a message that names the block, one case a run: fatal_errors <case>.
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <csetjmp>
#include <cstdint>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <tutti/tutti.hpp>

#include "another_context.hpp"
#include "expect.hpp"

#define TUTTI_PURE [[gnu::transaction_pure]]

extern "C" {
TUTTI_PURE void _ITM_abortTransaction(unsigned);
TUTTI_PURE void _ITM_addUserCommitAction(void (*)(void*), std::uint64_t, void*);
TUTTI_PURE void _ITM_changeTransactionMode(int);
TUTTI_PURE void _ITM_registerTMCloneTable(void*, std::size_t);
}

namespace {

// clang-format off

long number = 0;
void another() {
    __transaction_atomic { ++number; }
}

constexpr unsigned leave = 1;
constexpr unsigned wait_for_change = 2;
constexpr unsigned start_over = 4;
TUTTI_PURE void give_way(unsigned why) { _ITM_abortTransaction(why); }

// ---- too late

void restarted_when_irrevocable() {
    const another_context there{another};
    __transaction_atomic { number = 1; _ITM_changeTransactionMode(0); give_way(start_over); }
}
void waits_when_irrevocable() {
    const another_context there{another};
    __transaction_atomic { number = 1; _ITM_changeTransactionMode(0); give_way(wait_for_change); }
}
/// The nested block could be cancelled, but not the block around it.
void nested_waits_when_irrevocable() {
    const another_context there{another};
    __transaction_atomic {
        number = 1;
        _ITM_changeTransactionMode(0);
        __transaction_atomic { ++number; give_way(wait_for_change); if (number == 7) __transaction_cancel; }
    }
}
void restarted_without_barriers() {
    __transaction_atomic { ++number; give_way(start_over); }
}
/// The block runs as the biased owner from its begin on, and so has no saved registers to return to.
void restarted_as_owner() {
    for (int i = 0; i != 3; ++i) another();
    __transaction_atomic { ++number; give_way(start_over); }
}

// ---- waits without a condition, handlers that throw

void waits_for_nothing() {
    const another_context there{another};
    __transaction_atomic { number = 1; give_way(wait_for_change); }
}

TUTTI_PURE void fail_before_commit() {
    tutti::atomically([](tutti::tx& t) { t.before_commit([] { throw std::runtime_error{"not today"}; }); });
}
TUTTI_PURE void fail_on_commit() {
    tutti::atomically([](tutti::tx& t) { t.on_commit([] { throw 7; }); });
}
void cancel_at_commit(void*) { _ITM_abortTransaction(leave); }
TUTTI_PURE void cancel_at_commit_later() { _ITM_addUserCommitAction(cancel_at_commit, 1, nullptr); }
void action_cancels() {
    const another_context there{another};
    __transaction_atomic { ++number; cancel_at_commit_later(); }
}

TUTTI_PURE void exit_before_commit() {
    tutti::atomically([](tutti::tx& t) { t.before_commit([] { pthread_exit(nullptr); }); });
}
void handler_throws() {
    const another_context there{another};
    __transaction_atomic { ++number; fail_before_commit(); }
}
void late_handler_throws() {
    const another_context there{another};
    __transaction_atomic { ++number; fail_on_commit(); }
}

void handler_exits() {
    const another_context there{another};
    __transaction_atomic { ++number; exit_before_commit(); }
}

// ---- left in the middle

jmp_buf outside;
TUTTI_PURE [[gnu::noinline]] void jump_out() { longjmp(outside, 1); }
TUTTI_PURE [[gnu::noinline]] void siglongjmp_out() { siglongjmp(outside, 1); }
[[gnu::noinline]] void leave_by_jump() {
    __transaction_atomic { ++number; jump_out(); }
}
void jumped_out_of_callee() {
    if (setjmp(outside) == 0) leave_by_jump();
    else another();
}
[[gnu::noinline]] void leave_by_siglongjmp() {
    __transaction_atomic { ++number; siglongjmp_out(); }
}
void jumped_with_mask() {
    if (sigsetjmp(outside, 1) == 0) leave_by_siglongjmp();
    else another();
}
void jumped_when_alone() {
    const another_context there{another};
    if (setjmp(outside) == 0) {
        __transaction_relaxed { ++number; longjmp(outside, 1); }
    }
    another();
}
void jumped_out_of_library() {
    if (setjmp(outside) == 0) tutti::atomically([](tutti::tx&) { jump_out(); });
}
/// The jump's target is inside the block, in a function that the block calls.
TUTTI_PURE [[gnu::noinline]] void jump_inside() {
    jmp_buf inside;
    if (setjmp(inside) == 0) longjmp(inside, 1);
}
void jumped_inside() {
    const another_context there{another};
    __transaction_atomic { ++number; jump_inside(); }
    tutti::atomically([](tutti::tx&) { jump_inside(); });
    EXPECT(number == 2);
}

/// Only asynchronous cancellation takes effect in here.
TUTTI_PURE void cancel_self() { pthread_cancel(pthread_self()); }
/// A thread with deferred cancellation ends in a system call inside a block that runs alone: the block commits.
int never_written[2];
std::atomic<bool> is_about_to_wait{false};
[[gnu::noinline]] void wait_for_cancellation() {
    char byte = 0;
    is_about_to_wait = true;
    EXPECT(::read(never_written[0], &byte, 1) != 1);
}
void cancel_while_waiting(void (*body)()) {
    is_about_to_wait = false;
    std::thread thread{body};
    while (!is_about_to_wait) std::this_thread::yield();
    pthread_cancel(thread.native_handle());
    thread.join();
}
void cancelled_at_a_point() {
    EXPECT(::pipe(never_written) == 0);
    another();
    cancel_while_waiting([] { __transaction_relaxed { ++number; wait_for_cancellation(); number += 100; } });
    EXPECT(number == 2);
    cancel_while_waiting([] {
        tutti::atomically([](tutti::tx& t) {
            t.become_irrevocable();
            wait_for_cancellation();
        });
    });
    another();
    EXPECT(number == 3);
}

void* run_cancelled(void* body) {
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, nullptr);
    reinterpret_cast<void (*)()>(body)();
    return nullptr;
}
void in_cancelled_thread(void (*body)()) {
    pthread_t thread{};
    EXPECT(pthread_create(&thread, nullptr, run_cancelled, reinterpret_cast<void*>(body)) == 0);
    pthread_join(thread, nullptr);
}
void cancelled_anywhere() {
    in_cancelled_thread([] { __transaction_atomic { ++number; cancel_self(); } });
}
void cancelled_anywhere_in_library() {
    in_cancelled_thread([] { tutti::atomically([](tutti::tx&) { cancel_self(); }); });
}

// ---- requests of the library to a block without barriers

template <class F>
bool is_refused(F ask) {
    try {
        tutti::atomically(ask);
    } catch (const tutti::usage_error& e) {
        return std::string_view{e.what()}.find("a block with a __transaction_cancel keeps its barriers") !=
               std::string_view::npos;
    }
    return false;
}
TUTTI_PURE void ask_for_all() {
    EXPECT(is_refused([](tutti::tx& t) { tutti::retry(t); }));
    EXPECT(is_refused([](tutti::tx& t) { tutti::restart(t); }));
    EXPECT(is_refused([](tutti::tx& t) { EXPECT(t.irrevocable()); t.become_visible(); }));
}
/// The program ends with a usage error that says what the block lacks, and not with a message of the runtime.
void asked_without_barriers() {
    __transaction_atomic { ++number; ask_for_all(); }
}

int restarts_left = 3;
TUTTI_PURE void restart_some_times() {
    tutti::atomically([](tutti::tx& t) {
        EXPECT(!t.irrevocable());
        if (restarts_left == 0) return;
        --restarts_left;
        tutti::restart(t);
    });
}
/// The block keeps its barriers, because it can be cancelled.
void asked_with_cancel() {
    __transaction_atomic {
        ++number;
        restart_some_times();
        if (number == 7) __transaction_cancel;
    }
    EXPECT(number == 1 && restarts_left == 0);
}

// ---- damaged objects

/// Pairs of a function and its clone, not in the order of addresses.
void* entries[] = {&entries[2], &entries[0], &entries[1], &entries[0], nullptr, &entries[0]};
void table_without_function() { _ITM_registerTMCloneTable(entries, 3); }
void table_without_clone() {
    entries[3] = nullptr;
    _ITM_registerTMCloneTable(entries, 3);
}
void table_too_large() { _ITM_registerTMCloneTable(entries, ~std::size_t{0} / 4); }

// clang-format on

struct named {
    std::string_view name;
    void (*run)();
};
constexpr named cases[] = {
    {"restarted-when-irrevocable", restarted_when_irrevocable},
    {"waits-when-irrevocable", waits_when_irrevocable},
    {"nested-waits-when-irrevocable", nested_waits_when_irrevocable},
    {"restarted-without-barriers", restarted_without_barriers},
    {"restarted-as-owner", restarted_as_owner},
    {"waits-for-nothing", waits_for_nothing},
    {"handler-throws", handler_throws},
    {"late-handler-throws", late_handler_throws},
    {"handler-exits", handler_exits},
    {"action-cancels", action_cancels},
    {"jumped-out-of-callee", jumped_out_of_callee},
    {"jumped-with-mask", jumped_with_mask},
    {"jumped-when-alone", jumped_when_alone},
    {"jumped-out-of-library", jumped_out_of_library},
    {"jumped-inside", jumped_inside},
    {"cancelled-at-a-point", cancelled_at_a_point},
    {"cancelled-anywhere", cancelled_anywhere},
    {"cancelled-anywhere-in-library", cancelled_anywhere_in_library},
    {"asked-without-barriers", asked_without_barriers},
    {"asked-with-cancel", asked_with_cancel},
    {"table-without-function", table_without_function},
    {"table-without-clone", table_without_clone},
    {"table-too-large", table_too_large},
};

}  // namespace

int main(int argc, char** argv) {
    const std::string_view which = argc > 1 ? argv[1] : "";
    for (const named& c : cases) {
        if (c.name != which) continue;
        c.run();
        return 0;
    }
    return 2;
}
