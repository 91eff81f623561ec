/* The C half of restarts.cpp: blocks of the C interface jump at every restart. */
#include <stdio.h>
#include <tutti/tutti.h>

enum { restarts = 16000 };

static tutti_var outermost, nested, rest, alternative;

int restarts_in_c(void);
void block_in_cxx(void);

typedef void leaving(tutti_tx* tx);
static __attribute__((noinline)) void beyond(unsigned depth, leaving* leave, tutti_tx* tx) {
    volatile char fenced[48];
    fenced[depth] = 1;
    if (depth == 0) leave(tx);
    else beyond(depth - 1, leave, tx);
    fenced[depth] = (char)(fenced[depth] + 1);
}
static void leave_by_restart(tutti_tx* tx) { tutti_restart(tx); }
static void leave_by_retry(tutti_tx* tx) { tutti_retry(tx); }
static void leave_by_cancel(tutti_tx* tx) { tutti_cancel(tx); }
static void leave_by_error(tutti_tx* tx) { tutti_or_else(tx, NULL, 0); }

static void bump(tutti_tx* tx, tutti_var* v) { tutti_set(tx, v, tutti_get(tx, v) + 1); }

static void run_outermost(tutti_tx* tx, void* unused) {
    (void)unused;
    bump(tx, &outermost);
    if (tutti_attempt(tx) <= restarts) beyond(3, leave_by_restart, tx);
}

static void run_nested(tutti_tx* tx, void* runs) {
    bump(tx, &nested);
    if (++*(int*)runs % 1000 != 0) beyond(3, leave_by_restart, tx);
}
static void run_rest(tutti_tx* tx, void* runs) {
    bump(tx, &rest);
    if (++*(int*)runs % 10 != 0) beyond(3, leave_by_restart, tx);
}
static void run_around(tutti_tx* tx, void* runs) {
    tutti_atomically(NULL, run_nested, runs);
    int again = 0;
    tutti_checkpoint(tx, run_rest, &again, NULL, 0);
    if (tutti_attempt(tx) < 20) beyond(3, leave_by_restart, tx);
    block_in_cxx();
}

static void run_first(tutti_tx* tx, void* unused) {
    (void)unused;
    beyond(3, leave_by_retry, tx);
}
static void run_last(tutti_tx* tx, void* unused) {
    (void)unused;
    bump(tx, &alternative);
}
static void choose(tutti_tx* tx, void* unused) {
    (void)unused;
    const tutti_alternative both[] = {{run_first, NULL}, {run_last, NULL}};
    tutti_or_else(tx, both, 2);
}

static void run_cancelled(tutti_tx* tx, void* unused) {
    (void)unused;
    beyond(3, leave_by_cancel, tx);
}
static void run_wrong(tutti_tx* tx, void* unused) {
    (void)unused;
    beyond(3, leave_by_error, tx);
}

int restarts_in_c(void) {
    int runs = 0;
    int wrong = tutti_atomically(NULL, run_outermost, NULL) != TUTTI_COMMITTED;
    wrong += tutti_atomically(NULL, run_around, &runs) != TUTTI_COMMITTED;
    for (int i = 0; i < 1000; ++i) {
        wrong += tutti_atomically(NULL, choose, NULL) != TUTTI_COMMITTED;
        wrong += tutti_atomically(NULL, run_cancelled, NULL) != TUTTI_CANCELLED;
        wrong += tutti_atomically(NULL, run_wrong, NULL) != TUTTI_ERROR_USE;
    }
    wrong += tutti_var_load(&outermost) != 1 || tutti_var_load(&nested) != 1 || tutti_var_load(&rest) != 1 ||
             tutti_var_load(&alternative) != 1000;
    if (wrong != 0) fprintf(stderr, "C blocks: %d results are wrong\n", wrong);
    return wrong;
}
