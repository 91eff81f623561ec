// Waiting, alternatives, and the stricter modes.
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <time.h>

#include "check.h"
#include "tutti/tutti.h"

static uint64_t milliseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

// ---- retry: two threads hand a value back and forth -----------------------------------------------------------------

static tutti_var ball = TUTTI_VAR_INIT(0);

struct player {
    uint64_t mine;  // takes the ball when its value has this parity
    uint64_t last;
};

static void pass_turn(tutti_tx* tx, void* argument) {
    const struct player* const p = argument;
    const uint64_t now = tutti_get(tx, &ball);
    if (now % 2 != p->mine) tutti_retry(tx);
    tutti_set(tx, &ball, now + 1);
}

static void* play(void* argument) {
    struct player* const p = argument;
    for (uint64_t i = 0; i < p->last; ++i) {
        if (tutti_atomically(NULL, pass_turn, p) != TUTTI_COMMITTED) abort();
    }
    return NULL;
}

static void retry_hands_over_between_threads(void) {
    struct player even = {0, 3000}, odd = {1, 3000};
    pthread_t threads[2];
    CHECK_EQ(pthread_create(&threads[0], NULL, play, &even), 0);
    CHECK_EQ(pthread_create(&threads[1], NULL, play, &odd), 0);
    for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
    CHECK_EQ(tutti_var_load(&ball), 6000);
}

// ---- retry in a nested block waits with the parent, and on the parent's reads
// ----------------------------------------

static tutti_var gate = TUTTI_VAR_INIT(0);
// A body sets `found_shut` before it waits. The thread that ends the wait does so only after that, so the body runs at
// least twice.
static atomic_bool found_shut;

static void await_reader(void) {
    while (!atomic_load(&found_shut)) sched_yield();
}

static void wait_for_gate(tutti_tx* tx, void* unused) {
    (void)unused;
    if (tutti_get(tx, &gate) != 0) return;
    atomic_store(&found_shut, true);
    tutti_retry(tx);
}

static void parent_of_a_wait(tutti_tx* tx, void* runs) {
    (void)tx;
    ++*(unsigned*)runs;
    CHECK_EQ(tutti_atomically(NULL, wait_for_gate, NULL), TUTTI_COMMITTED);
}

static void* open_gate(void* unused) {
    (void)unused;
    await_reader();
    tutti_var_store(&gate, 2);
    return NULL;
}

static void a_nested_retry_waits_with_its_parent(void) {
    tutti_var_store(&gate, 0);
    atomic_store(&found_shut, false);
    pthread_t opener;
    CHECK_EQ(pthread_create(&opener, NULL, open_gate, NULL), 0);
    unsigned runs = 0;
    CHECK_EQ(tutti_atomically(NULL, parent_of_a_wait, &runs), TUTTI_COMMITTED);
    pthread_join(opener, NULL);
    CHECK(runs >= 2);
}

// ---- retry only on memory that the block has allocated: another transaction cannot change it
// -------------------------

static void wait_for_own_memory(tutti_tx* tx, void* memory) {
    if (memory == NULL) tutti_cancel(tx);
    tutti_var* const own = memory;
    tutti_var_init(own, 1);
    if (tutti_get(tx, own) == 1) tutti_retry(tx);
}

static void wait_for_malloc(tutti_tx* tx, void* unused) {
    (void)unused;
    wait_for_own_memory(tx, tutti_malloc(tx, sizeof(tutti_var)));
}

static void wait_for_calloc(tutti_tx* tx, void* unused) {
    (void)unused;
    tutti_var* const vars = tutti_calloc(tx, 4, sizeof(tutti_var));
    wait_for_own_memory(tx, vars != NULL ? &vars[3] : NULL);
}

static void wait_for_aligned_alloc(tutti_tx* tx, void* unused) {
    (void)unused;
    wait_for_own_memory(tx, tutti_aligned_alloc(tx, 64, 64));
}

static void a_retry_on_own_memory_is_an_error(void) {
    CHECK_EQ(tutti_atomically(NULL, wait_for_malloc, NULL), TUTTI_ERROR_USE);
    CHECK_EQ(tutti_atomically(NULL, wait_for_calloc, NULL), TUTTI_ERROR_USE);
    CHECK_EQ(tutti_atomically(NULL, wait_for_aligned_alloc, NULL), TUTTI_ERROR_USE);
}

// ---- retry_for ----------------------------------------------------------------------------------------------------

struct timed {
    uint64_t nanoseconds;
    bool expired;
};

static void wait_until_timeout(tutti_tx* tx, void* argument) {
    struct timed* const t = argument;
    if (tutti_get(tx, &gate) != 2) {
        atomic_store(&found_shut, true);
        tutti_retry_for(tx, t->nanoseconds);
        t->expired = true;
    }
}

static void a_timed_retry_returns_after_its_limit(void) {
    tutti_var_store(&gate, 0);
    struct timed t = {30000000, false};
    const uint64_t start = milliseconds();
    CHECK_EQ(tutti_atomically(NULL, wait_until_timeout, &t), TUTTI_COMMITTED);
    CHECK(t.expired);
    CHECK(milliseconds() - start >= 29);
}

static void a_timed_retry_returns_on_a_change(void) {
    tutti_var_store(&gate, 0);
    atomic_store(&found_shut, false);
    pthread_t opener;
    CHECK_EQ(pthread_create(&opener, NULL, open_gate, NULL), 0);
    struct timed t = {UINT64_MAX, false};
    CHECK_EQ(tutti_atomically(NULL, wait_until_timeout, &t), TUTTI_COMMITTED);
    pthread_join(opener, NULL);
    CHECK(!t.expired);
}

// ---- or_else ------------------------------------------------------------------------------------------------------

static tutti_var stock[3] = {TUTTI_VAR_INIT(0), TUTTI_VAR_INIT(0), TUTTI_VAR_INIT(0)};
static tutti_var taken = TUTTI_VAR_INIT(0);

static void take(tutti_tx* tx, void* from) {
    tutti_set(tx, &taken, tutti_get(tx, &taken) + 1);  // a retry undoes this
    const uint64_t here = tutti_get(tx, from);
    if (here == 0) {
        if (from == &stock[2]) atomic_store(&found_shut, true);  // all alternatives have been tried
        tutti_retry(tx);
    }
    tutti_set(tx, from, here - 1);
}

static void take_anywhere(tutti_tx* tx, void* result) {
    const tutti_alternative ways[] = {{take, &stock[0]}, {take, &stock[1]}, {take, &stock[2]}};
    *(int*)result = tutti_or_else(tx, ways, 3);
}

static void or_else_runs_the_first_ready_alternative(void) {
    for (uint64_t full = 0; full < 3; ++full) {
        for (uint64_t i = 0; i < 3; ++i) tutti_var_store(&stock[i], i >= full ? 5 : 0);
        tutti_var_store(&taken, 0);
        int result = -1;
        CHECK_EQ(tutti_atomically(NULL, take_anywhere, &result), TUTTI_COMMITTED);
        CHECK_EQ(result, TUTTI_COMMITTED);
        CHECK_EQ(tutti_var_load(&taken), 1);
        for (uint64_t i = 0; i < 3; ++i) CHECK_EQ(tutti_var_load(&stock[i]), i < full ? 0 : i == full ? 4 : 5);
    }
}

static void* refill_first(void* unused) {
    (void)unused;
    await_reader();
    tutti_var_store(&stock[0], 1);
    return NULL;
}

static void or_else_waits_for_reads_of_any_alternative(void) {
    for (int i = 0; i < 3; ++i) tutti_var_store(&stock[i], 0);
    tutti_var_store(&taken, 0);
    atomic_store(&found_shut, false);
    pthread_t filler;
    CHECK_EQ(pthread_create(&filler, NULL, refill_first, NULL), 0);
    int result = -1;
    CHECK_EQ(tutti_atomically(NULL, take_anywhere, &result), TUTTI_COMMITTED);
    pthread_join(filler, NULL);
    CHECK_EQ(tutti_var_load(&stock[0]), 0);
    CHECK_EQ(tutti_var_load(&taken), 1);
}

static void take_timed(tutti_tx* tx, void* from) {
    if (tutti_get(tx, from) == 0) tutti_retry_for(tx, 10000000);
    tutti_set(tx, &taken, 7);
}

static void take_or_time_out(tutti_tx* tx, void* unused) {
    (void)unused;
    const tutti_alternative ways[] = {{take, &stock[0]}, {take_timed, &stock[1]}};
    CHECK_EQ(tutti_or_else(tx, ways, 2), TUTTI_COMMITTED);
}

static void the_last_alternative_may_time_out(void) {
    for (int i = 0; i < 3; ++i) tutti_var_store(&stock[i], 0);
    tutti_var_store(&taken, 0);
    CHECK_EQ(tutti_atomically(NULL, take_or_time_out, NULL), TUTTI_COMMITTED);
    CHECK_EQ(tutti_var_load(&taken), 7);
}

static int wrongly_reached = 0;

static void cancel_it(tutti_tx* tx, void* unused) {
    (void)unused;
    tutti_set(tx, &taken, 99);
    tutti_cancel(tx);
}

static void last_one_cancels(tutti_tx* tx, void* unused) {
    (void)unused;
    const tutti_alternative ways[] = {{take, &stock[0]}, {cancel_it, NULL}};
    (void)tutti_or_else(tx, ways, 2);
    ++wrongly_reached;
}

static void first_one_cancels(tutti_tx* tx, void* unused) {
    (void)unused;
    const tutti_alternative ways[] = {{cancel_it, NULL}, {take_timed, &stock[1]}};
    (void)tutti_or_else(tx, ways, 2);
    ++wrongly_reached;
}

static void a_cancel_in_an_alternative_cancels_the_parent(void) {
    for (int i = 0; i < 3; ++i) tutti_var_store(&stock[i], 0);
    tutti_var_store(&taken, 0);
    CHECK_EQ(tutti_atomically(NULL, last_one_cancels, NULL), TUTTI_CANCELLED);
    CHECK_EQ(tutti_atomically(NULL, first_one_cancels, NULL), TUTTI_CANCELLED);
    CHECK_EQ(wrongly_reached, 0);
    CHECK_EQ(tutti_var_load(&taken), 0);
}

// ---- modes --------------------------------------------------------------------------------------------------------

static void become_irrevocable(tutti_tx* tx, void* argument) {
    tutti_set(tx, argument, tutti_get(tx, argument) + 1);
    tutti_become_irrevocable(tx, "writes to a device");
    CHECK(tutti_is_irrevocable(tx));
    tutti_become_irrevocable(tx, NULL);
    tutti_set(tx, argument, tutti_get(tx, argument) + 1);
}

static void check_irrevocable_from_begin(tutti_tx* tx, void* argument) {
    CHECK(tutti_is_irrevocable(tx));
    tutti_set(tx, argument, tutti_get(tx, argument) + 1);
}

static void become_visible(tutti_tx* tx, void* argument) {
    CHECK(!tutti_is_irrevocable(tx));
    tutti_set(tx, argument, tutti_get(tx, argument) + 1);
    tutti_become_visible(tx);
    tutti_become_visible(tx);
    tutti_set(tx, argument, tutti_get(tx, argument) + 1);
}

static void modes_are_switched(void) {
    tutti_var v = TUTTI_VAR_INIT(0);
    CHECK_EQ(tutti_atomically(NULL, become_irrevocable, &v), TUTTI_COMMITTED);
    CHECK_EQ(tutti_var_load(&v), 2);
    CHECK_EQ(tutti_atomically(&TUTTI_OPTIONS(.mode = TUTTI_IRREVOCABLE), check_irrevocable_from_begin, &v),
             TUTTI_COMMITTED);
    CHECK_EQ(tutti_var_load(&v), 3);
    CHECK_EQ(tutti_atomically(NULL, become_visible, &v), TUTTI_COMMITTED);
    CHECK_EQ(tutti_var_load(&v), 5);
}

static void irrevocable_and_cancel(tutti_tx* tx, void* argument) {
    tutti_become_irrevocable(tx, "test");
    tutti_set(tx, argument, 50);
    tutti_cancel(tx);
}

static void an_irrevocable_block_can_cancel(void) {
    tutti_var v = TUTTI_VAR_INIT(1);
    CHECK_EQ(tutti_atomically(NULL, irrevocable_and_cancel, &v), TUTTI_CANCELLED);
    CHECK_EQ(tutti_var_load(&v), 1);
}

static void switch_in_child(tutti_tx* tx, void* argument) {
    tutti_set(tx, argument, tutti_get(tx, argument) + 1);
    CHECK_EQ(tutti_atomically(NULL, become_irrevocable, argument), TUTTI_COMMITTED);
    CHECK(tutti_is_irrevocable(tx));
}

static void a_child_can_make_its_parent_irrevocable(void) {
    tutti_var v = TUTTI_VAR_INIT(0);
    CHECK_EQ(tutti_atomically(NULL, switch_in_child, &v), TUTTI_COMMITTED);
    CHECK_EQ(tutti_var_load(&v), 3);
}

int main(void) {
    RUN(retry_hands_over_between_threads);
    RUN(a_nested_retry_waits_with_its_parent);
    RUN(a_retry_on_own_memory_is_an_error);
    RUN(a_timed_retry_returns_after_its_limit);
    RUN(a_timed_retry_returns_on_a_change);
    RUN(or_else_runs_the_first_ready_alternative);
    RUN(or_else_waits_for_reads_of_any_alternative);
    RUN(the_last_alternative_may_time_out);
    RUN(a_cancel_in_an_alternative_cancels_the_parent);
    RUN(modes_are_switched);
    RUN(an_irrevocable_block_can_cancel);
    RUN(a_child_can_make_its_parent_irrevocable);
    return check_status();
}
