/* The guarantees of apps/blocks: work deferred to the commit, actions of a commit, tokens, conditions. The first
 * argument names the case. A lost wake-up ends in the time limit of the test. */
#include "apps/blocks/blocks.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(bool holds, const char* what, int line) {
    if (holds) return;
    fprintf(stderr, "line %d: %s does not hold\n", line, what);
    exit(1);
}
#define CHECK(what) check((what), #what, __LINE__)

enum { threads = 4, rounds = 3000 };

/* ---- deferred work */

static char done[16];
static size_t count;

static void note(void* argument) {
    CHECK(!tm_in_block());
    done[count++] = *(const char*)argument;
}
static void note_drop(void* argument) {
    (void)argument;
    done[count++] = '-';
}
static int variable;
static void begin_a_block(void* argument) {
    (void)argument;
    __transaction_atomic { variable++; }
    done[count++] = 'b';
}
static bool is_done(const char* expected) {
    const bool same = count == strlen(expected) && memcmp(done, expected, count) == 0;
    count = 0;
    return same;
}

TM_SAFE static void defer_in_a_block_inside(void) {
    __transaction_atomic { tm_defer(note, note_drop, "2"); }
}

/* Runs the scope in a function, so that the scope ends before the caller checks. */
static void commit_three(void) {
    TM_SCOPE __transaction_atomic {
        tm_defer(note, note_drop, "1");
        defer_in_a_block_inside();
        tm_defer(note, note_drop, "3");
        variable++;
    }
}
static void cancel_one(void) {
    TM_SCOPE __transaction_atomic {
        tm_defer(note, note_drop, "1");
        variable++;
        __transaction_cancel;
    }
}
static void commit_what_begins_blocks(void) {
    TM_SCOPE __transaction_atomic {
        tm_defer(begin_a_block, note_drop, NULL);
        tm_defer(note, note_drop, "2");
    }
}
static size_t count_between;
TM_SAFE static void defer_in_a_scope_inside(void) {
    TM_SCOPE __transaction_atomic { tm_defer(note, note_drop, "1"); }
}
static void defer_in_scopes_inside_each_other(void) {
    TM_SCOPE __transaction_atomic {
        defer_in_a_scope_inside();
        count_between = count;
    }
}

static void cancelled_work(void) {
    cancel_one();
    CHECK(is_done("-"));
    CHECK(variable == 0);
}

static void deferred_work(void) {
    tm_defer(note, note_drop, "0");
    CHECK(is_done("0"));
    commit_three();
    CHECK(is_done("123"));
    commit_what_begins_blocks();
    CHECK(is_done("b2"));
    defer_in_scopes_inside_each_other();
    CHECK(count_between == 0);
    CHECK(is_done("1"));
}

/* ---- actions of a commit */

static _Thread_local long counted, blocks;
static pthread_barrier_t all_have_begun, all_have_ended;
static void add_one(void* argument) { ++*(long*)argument; }
static void count_in_a_block(void) {
    __transaction_atomic {
        tm_at_commit(add_one, &counted);
        blocks++;
    }
}
static void* count_all(void* argument) {
    for (long i = 1; i <= rounds; i++) {
        count_in_a_block();
        CHECK(counted == i);
        if (i == 1) pthread_barrier_wait(&all_have_begun);
    }
    CHECK(blocks == rounds);
    pthread_barrier_wait(&all_have_ended);
    return argument;
}

/* Each block runs its action at its own commit, and leaves none to a later block. Two threads run blocks, because
 * libitm runs the blocks of a lone thread serially, and so never in hardware. */
static void actions(void) {
    pthread_barrier_init(&all_have_begun, NULL, 2);
    pthread_barrier_init(&all_have_ended, NULL, 2);
    pthread_t other;
    pthread_create(&other, NULL, count_all, NULL);
    count_all(NULL);
    pthread_join(other, NULL);
}

/* ---- tokens */

static tm_token token;
static int inside, entries;

static void* enter_and_leave(void* argument) {
    (void)argument;
    for (int i = 0; i < rounds; i++) {
        tm_token_take(&token);
        CHECK(__atomic_add_fetch(&inside, 1, __ATOMIC_RELAXED) == 1);
        entries++; /* only the token guards it */
        CHECK(__atomic_sub_fetch(&inside, 1, __ATOMIC_RELAXED) == 0);
        tm_token_give(&token);
    }
    return NULL;
}

static void give_and_cancel(void) {
    __transaction_atomic {
        tm_token_give(&token);
        __transaction_cancel;
    }
}

static void tokens(void) {
    CHECK(tm_token_try(&token));
    CHECK(!tm_token_try(&token));
    give_and_cancel();
    CHECK(!tm_token_try(&token));
    tm_token_give(&token);
    pthread_t all[threads];
    for (int i = 0; i < threads; i++) pthread_create(&all[i], NULL, enter_and_leave, NULL);
    for (int i = 0; i < threads; i++) pthread_join(all[i], NULL);
    CHECK(entries == threads * rounds);
}

/* ---- conditions */

static tm_condition run_number_of[2];
static int turn;

/* Each thread waits for its turn and passes it to the other. */
static void* take_turns(void* argument) {
    const int mine = *(const int*)argument;
    for (int i = 0; i < rounds; i++) {
        tm_token_take(&token);
        while (turn != mine) tm_condition_wait(&run_number_of[mine], &token);
        turn = 1 - mine;
        tm_condition_signal(&run_number_of[1 - mine]);
        tm_token_give(&token);
    }
    return NULL;
}

static void signal_and_cancel(tm_condition* condition) {
    __transaction_atomic {
        tm_condition_signal(condition);
        __transaction_cancel;
    }
}

static void conditions(void) {
    static const int first = 0, second = 1;
    pthread_t all[2];
    pthread_create(&all[0], NULL, take_turns, (void*)&first);
    pthread_create(&all[1], NULL, take_turns, (void*)&second);
    pthread_join(all[0], NULL);
    pthread_join(all[1], NULL);
    CHECK(turn == 0);

    tm_condition nobody = {0, 0};
    signal_and_cancel(&nobody);
    CHECK(nobody.signals == 0);
    tm_condition_signal(&nobody);
    tm_condition_await(&nobody, 0);

    struct timespec when;
    clock_gettime(CLOCK_REALTIME, &when);
    when.tv_nsec += 20000000;
    if (when.tv_nsec >= 1000000000) when.tv_nsec -= 1000000000, when.tv_sec++;
    tm_token_take(&token);
    tm_condition_wait_until(&nobody, &token, &when);
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    CHECK(now.tv_sec > when.tv_sec || (now.tv_sec == when.tv_sec && now.tv_nsec >= when.tv_nsec));
    CHECK(!tm_token_try(&token));
    tm_token_give(&token);
}

int main(int argc, char** argv) {
    const char* const what = argc == 2 ? argv[1] : "";
    if (strcmp(what, "deferred_work") == 0) deferred_work();
    else if (strcmp(what, "cancelled_work") == 0) cancelled_work();
    else if (strcmp(what, "actions") == 0) actions();
    else if (strcmp(what, "tokens") == 0) tokens();
    else if (strcmp(what, "conditions") == 0) conditions();
    else return 2;
    return 0;
}
