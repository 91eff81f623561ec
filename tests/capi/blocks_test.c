// Blocks: their results and effects, and cancel and restart in nested blocks.
#include "check.h"
#include "tutti/tutti.h"

static tutti_var x = TUTTI_VAR_INIT(0);
static tutti_var y = TUTTI_VAR_INIT(0);

static void reset(void) {
    tutti_var_store(&x, 0);
    tutti_var_store(&y, 0);
}

static void add_to_x(tutti_tx* tx, void* amount) { tutti_set(tx, &x, tutti_get(tx, &x) + *(uint64_t*)amount); }

static void a_block_commits(void) {
    reset();
    uint64_t five = 5;
    CHECK_EQ(tutti_atomically(NULL, add_to_x, &five), TUTTI_COMMITTED);
    CHECK_EQ(tutti_var_load(&x), 5);
    // Calls the function, not the macro, as bindings of other languages do.
    CHECK_EQ((tutti_atomically)(NULL, add_to_x, &five), TUTTI_COMMITTED);
    CHECK_EQ(tutti_var_load(&x), 10);
}

static void a_block_has_options(void) {
    reset();
    uint64_t one = 1;
    tutti_options how = TUTTI_OPTIONS_INIT;
    CHECK_EQ(tutti_atomically(&how, add_to_x, &one), TUTTI_COMMITTED);
    how.mode = TUTTI_VISIBLE;
    CHECK_EQ(tutti_atomically(&how, add_to_x, &one), TUTTI_COMMITTED);
    how.mode = TUTTI_IRREVOCABLE;
    CHECK_EQ(tutti_atomically(&how, add_to_x, &one), TUTTI_COMMITTED);
    CHECK_EQ(
        tutti_atomically(&TUTTI_OPTIONS(.name = "add", .privatization = TUTTI_PRIVATIZATION_WAIVED), add_to_x, &one),
        TUTTI_COMMITTED);
    CHECK_EQ(tutti_atomically(&TUTTI_OPTIONS(), add_to_x, &one), TUTTI_COMMITTED);
    CHECK_EQ(tutti_var_load(&x), 5);
}

static void read_x(tutti_tx* tx, void* to) { *(uint64_t*)to = tutti_get(tx, &x); }

static void a_read_only_block_reads(void) {
    tutti_var_store(&x, 77);
    uint64_t seen = 0;
    CHECK_EQ(tutti_atomically(&TUTTI_OPTIONS(.read_only = true), read_x, &seen), TUTTI_COMMITTED);
    CHECK_EQ(seen, 77);
}

static void a_snapshot_reads(void) {
    tutti_var_store(&x, 78);
    uint64_t seen = 0;
    CHECK_EQ(tutti_atomically(&TUTTI_OPTIONS(.mode = TUTTI_SNAPSHOT), read_x, &seen), TUTTI_COMMITTED);
    CHECK_EQ(seen, 78);
}

static void write_and_cancel(tutti_tx* tx, void* reached) {
    tutti_set(tx, &x, 99);
    tutti_cancel(tx);
    *(bool*)reached = true;
}

static void a_cancelled_block_has_no_effect(void) {
    reset();
    bool reached = false;
    CHECK_EQ(tutti_atomically(NULL, write_and_cancel, &reached), TUTTI_CANCELLED);
    CHECK(!reached);
    CHECK_EQ(tutti_var_load(&x), 0);
}

struct attempts {
    unsigned seen[3];
    tutti_abort_cause cause[3];
    unsigned count;
};

static void restart_twice(tutti_tx* tx, void* argument) {
    struct attempts* const a = argument;
    a->seen[a->count] = tutti_attempt(tx);
    a->cause[a->count] = tutti_last_abort(tx);
    ++a->count;
    tutti_set(tx, &x, tutti_get(tx, &x) + 1);
    if (a->count < 3) tutti_restart(tx);
}

static void a_restart_runs_the_body_again(void) {
    reset();
    struct attempts a = {.count = 0};
    CHECK_EQ(tutti_atomically(NULL, restart_twice, &a), TUTTI_COMMITTED);
    CHECK_EQ(a.count, 3);
    for (unsigned i = 0; i < 3; ++i) {
        CHECK_EQ(a.seen[i], i + 1);
        CHECK_EQ(a.cause[i], i == 0 ? TUTTI_ABORT_NONE : TUTTI_ABORT_EXPLICIT_RESTART);
    }
    CHECK_EQ(tutti_var_load(&x), 1);
}

// ---- nesting ------------------------------------------------------------------------------------------------------

static void set_y_and_cancel(tutti_tx* tx, void* unused) {
    (void)unused;
    CHECK_EQ(tutti_get(tx, &x), 1);  // the parent's write
    tutti_set(tx, &x, 50);
    tutti_set(tx, &y, 50);
    tutti_cancel(tx);
}

static void parent_of_a_cancel(tutti_tx* tx, void* nesting) {
    tutti_set(tx, &x, 1);
    const int result = tutti_atomically(&TUTTI_OPTIONS(.nesting = *(int*)nesting), set_y_and_cancel, NULL);
    CHECK_EQ(result, TUTTI_CANCELLED);
    CHECK_EQ(tutti_get(tx, &x), 1);
    CHECK_EQ(tutti_get(tx, &y), 0);
    tutti_set(tx, &y, 2);
}

static void a_closed_block_cancels_alone(void) {
    reset();
    int closed = TUTTI_NESTING_CLOSED;
    CHECK_EQ(tutti_atomically(NULL, parent_of_a_cancel, &closed), TUTTI_COMMITTED);
    CHECK_EQ(tutti_var_load(&x), 1);
    CHECK_EQ(tutti_var_load(&y), 2);
}

static void a_flat_block_cancels_its_parent(void) {
    reset();
    int flat = TUTTI_NESTING_FLAT;
    CHECK_EQ(tutti_atomically(NULL, parent_of_a_cancel, &flat), TUTTI_CANCELLED);
    CHECK_EQ(tutti_var_load(&x), 0);
    CHECK_EQ(tutti_var_load(&y), 0);
}

struct nested_restart {
    unsigned parent_runs;
    unsigned child_runs;
};

static void child_restarts(tutti_tx* tx, void* argument) {
    struct nested_restart* const n = argument;
    tutti_set(tx, &y, tutti_get(tx, &y) + 1);
    if (++n->child_runs < 4) tutti_restart(tx);
}

static void parent_of_a_restart(tutti_tx* tx, void* argument) {
    struct nested_restart* const n = argument;
    ++n->parent_runs;
    tutti_set(tx, &x, 1);
    CHECK_EQ(tutti_atomically(NULL, child_restarts, n), TUTTI_COMMITTED);
}

static void a_closed_block_restarts_alone(void) {
    reset();
    struct nested_restart n = {0, 0};
    CHECK_EQ(tutti_atomically(NULL, parent_of_a_restart, &n), TUTTI_COMMITTED);
    CHECK_EQ(n.parent_runs, 1);
    CHECK_EQ(n.child_runs, 4);
    CHECK_EQ(tutti_var_load(&y), 1);
}

struct depth {
    unsigned level;
    unsigned cancel_at;
};

// Nests ten blocks; the one at `cancel_at` cancels after its child has returned.
static void nest(tutti_tx* tx, void* argument) {
    const struct depth here = *(struct depth*)argument;
    tutti_set(tx, &x, tutti_get(tx, &x) + 1);
    if (here.level < 10) {
        struct depth below = {here.level + 1, here.cancel_at};
        const int result = tutti_atomically(NULL, nest, &below);
        CHECK_EQ(result, below.level == here.cancel_at ? TUTTI_CANCELLED : TUTTI_COMMITTED);
    }
    if (here.level == here.cancel_at) tutti_cancel(tx);
}

static void any_of_ten_levels_can_cancel(void) {
    for (unsigned level = 1; level <= 10; ++level) {
        reset();
        struct depth top = {1, level};
        CHECK_EQ(tutti_atomically(NULL, nest, &top), level == 1 ? TUTTI_CANCELLED : TUTTI_COMMITTED);
        CHECK_EQ(tutti_var_load(&x), level - 1);
    }
}

static void compare_current(tutti_tx* tx, void* same) { *(bool*)same = tutti_current() == tx; }

static void the_current_transaction_is_known(void) {
    bool same = false;
    CHECK(tutti_current() == NULL);
    CHECK_EQ(tutti_atomically(NULL, compare_current, &same), TUTTI_COMMITTED);
    CHECK(same);
    CHECK(tutti_current() == NULL);
}

int main(void) {
    RUN(a_block_commits);
    RUN(a_block_has_options);
    RUN(a_read_only_block_reads);
    RUN(a_snapshot_reads);
    RUN(a_cancelled_block_has_no_effect);
    RUN(a_restart_runs_the_body_again);
    RUN(a_closed_block_cancels_alone);
    RUN(a_flat_block_cancels_its_parent);
    RUN(a_closed_block_restarts_alone);
    RUN(any_of_ten_levels_can_cancel);
    RUN(the_current_transaction_is_known);
    return check_status();
}
