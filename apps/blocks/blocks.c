#include "apps/blocks/blocks.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#include <limits.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- actions ----------------------------------------------------------------------------------------------------
 * GCC's libitm commits a hardware transaction without its actions. The actions stay in the thread's list until a
 * block commits in software. So a block with actions leaves hardware. Tutti's runtime does this itself when the
 * action is added. */

#if defined(__x86_64__)
static bool has_rtm;

__attribute__((constructor)) static void look_for_rtm(void) {
    unsigned a = 0, b = 0, c = 0, d = 0;
    has_rtm = __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b & (1U << 11)) != 0;
}

/* XTEST, and XABORT with a code that does not ask for another try. The roll-back also removes the action. */
static void leave_hardware(void) {
    if (!has_rtm) return;
    bool runs_in_hardware;
    __asm__ volatile(".byte 0x0f, 0x01, 0xd6\n\tsetnz %0" : "=r"(runs_in_hardware) : : "cc", "memory");
    if (runs_in_hardware) __asm__ volatile(".byte 0xc6, 0xf8, 0xff" : : : "eax", "memory");
}
#else
static void leave_hardware(void) {}
#endif

void tm_at_commit(void (*action)(void*), void* argument) {
    _ITM_addUserCommitAction(action, tm_any_transaction, argument);
    leave_hardware();
}

/* ---- deferred work --------------------------------------------------------------------------------------------*/

struct work {
    struct work* next;
    void (*run)(void*);
    void (*drop)(void*);
    void* argument;
};

static _Thread_local struct work* committed;
static _Thread_local struct work** last;

/* Runs at the commit, while ownership is still held. It only queues the work, because the work may begin blocks when
 * it runs. */
static void queue(void* argument) {
    struct work* work = argument;
    if (committed == NULL) last = &committed;
    *last = work;
    last = &work->next;
}

static void drop(void* argument) {
    struct work* work = argument;
    work->drop(work->argument);
    free(work);
}

void tm_defer(void (*run)(void*), void (*dropped)(void*), void* argument) {
    if (!tm_in_block()) {
        run(argument);
        return;
    }
    struct work* work = malloc(sizeof *work);
    if (work == NULL) {
        dropped(argument);
        return;
    }
    *work = (struct work){.next = NULL, .run = run, .drop = dropped, .argument = argument};
    _ITM_addUserUndoAction(drop, work);
    tm_at_commit(queue, work);
}

void tm_leave(const int* scope) {
    (void)scope;
    if (__builtin_expect(committed == NULL, 1) || tm_in_block()) return;
    do {
        struct work* work = committed;
        committed = work->next;
        work->run(work->argument);
        free(work);
    } while (committed != NULL);
}

/* ---- waiting --------------------------------------------------------------------------------------------------
 * A thread that waits for a word to change sleeps in the kernel. A block that changes the word wakes the sleepers at
 * its commit. So a block never wakes a thread early, and wakes none if it is rolled back.
 *
 * No wake-up is lost. The sleeper counts itself (A), then the kernel compares the word (B) and sleeps. The action of
 * a commit runs after the word has changed (C), and then reads the count (D). The fences order A before B and C
 * before D, so either D sees the count or B sees the change. The word may have a value of a block that is still
 * running and is then rolled back: a thread that wakes up because of this checks again. */
static void sleep_while(unsigned* word, unsigned* count, unsigned from, const struct timespec* at_most) {
    __atomic_fetch_add(count, 1, __ATOMIC_SEQ_CST);
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, from, at_most, NULL, 0);
    __atomic_fetch_sub(count, 1, __ATOMIC_RELAXED);
}

static void wake_if_asleep(unsigned* word, const unsigned* count) {
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (__atomic_load_n(count, __ATOMIC_RELAXED) != 0)
        syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

static void wake_token(void* argument) {
    tm_token* token = argument;
    wake_if_asleep(&token->held, &token->asleep);
}

static void wake_condition(void* argument) {
    tm_condition* condition = argument;
    wake_if_asleep(&condition->signals, &condition->asleep);
}

/* ---- tokens ---------------------------------------------------------------------------------------------------*/

TM_SAFE bool tm_token_try(tm_token* token) {
    bool taken = false;
    __transaction_atomic {
        if (token->held == 0) {
            token->held = 1;
            taken = true;
        }
    }
    return taken;
}

void tm_token_wait(tm_token* token) { sleep_while(&token->held, &token->asleep, 1, NULL); }

void tm_token_take(tm_token* token) {
    while (!tm_token_try(token)) tm_token_wait(token);
}

TM_SAFE void tm_token_give(tm_token* token) {
    __transaction_atomic {
        token->held = 0;
        tm_at_commit(wake_token, token);
    }
}

static unsigned signals_of(tm_condition* condition) {
    unsigned signals;
    __transaction_atomic { signals = condition->signals; }
    return signals;
}

static uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    return (uint64_t)time.tv_sec * 1000000000U + (uint64_t)time.tv_nsec;
}

void tm_condition_await(tm_condition* condition, unsigned seen) {
    while (signals_of(condition) == seen) sleep_while(&condition->signals, &condition->asleep, seen, NULL);
}

void tm_condition_wait(tm_condition* condition, tm_token* token) {
    const unsigned seen = signals_of(condition);
    tm_token_give(token);
    tm_condition_await(condition, seen);
    tm_token_take(token);
}

void tm_condition_wait_until(tm_condition* condition, tm_token* token, const struct timespec* when) {
    const uint64_t until = (uint64_t)when->tv_sec * 1000000000U + (uint64_t)when->tv_nsec;
    const unsigned seen = signals_of(condition);
    tm_token_give(token);
    for (uint64_t time = now(); time < until && signals_of(condition) == seen; time = now()) {
        const uint64_t left = until - time;
        const struct timespec at_most = {(time_t)(left / 1000000000U), (long)(left % 1000000000U)};
        sleep_while(&condition->signals, &condition->asleep, seen, &at_most);
    }
    tm_token_take(token);
}

TM_SAFE void tm_condition_signal(tm_condition* condition) {
    __transaction_atomic {
        condition->signals++;
        tm_at_commit(wake_condition, condition);
    }
}
