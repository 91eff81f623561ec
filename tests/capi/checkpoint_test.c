// Partial roll-back: the code that runs again after a conflict, the values of its locals, and the release of saved
// copies.
#include <pthread.h>

#include "check.h"
#include "tutti/tutti.h"

static tutti_var early = TUTTI_VAR_INIT(0), late = TUTTI_VAR_INIT(0), latest = TUTTI_VAR_INIT(0);
static tutti_var own = TUTTI_VAR_INIT(0);

/// Returns true if two transactions can always run at the same time. Returns false for htm, where they can do so only
/// until hardware has failed one of them.
static bool concurrent(void) {
    return strcmp(tutti_algorithm(), "serial") != 0 && strcmp(tutti_algorithm(), "global-lock") != 0 &&
           strcmp(tutti_algorithm(), "htm") != 0;
}

static void change(tutti_tx* tx, void* seen) {
    tutti_set(tx, seen, tutti_get(tx, seen) + 1);
    tutti_set(tx, &latest, tutti_get(tx, &latest) + 1);
}
static void* commit_change(void* seen) {
    CHECK_EQ(tutti_atomically(NULL, change, seen), TUTTI_COMMITTED);
    return NULL;
}
/// Changes `seen` in another transaction, and also `latest`, through which the reader notices the change.
static void overtake(tutti_var* seen) {
    pthread_t thread;
    CHECK_EQ(pthread_create(&thread, NULL, commit_change, seen), 0);
    pthread_join(thread, NULL);
}

/// Data that a body and its continuation share.
struct work {
    int before, after;   // runs
    int conflicts;       // number of runs of the continuation that meet a conflict
    tutti_var* changed;  // the variable of the conflict
    bool saves;
    struct {
        int steps;
        char text[100];
    } local;
};

static void rest(tutti_tx* tx, void* argument) {
    struct work* const w = argument;
    ++w->after;
    if (w->saves) CHECK_EQ(w->local.steps, 1);
    if (w->saves) CHECK_EQ(strcmp(w->local.text, "before"), 0);
    ++w->local.steps;
    strcpy(w->local.text, "changed by the continuation");
    tutti_set(tx, &own, tutti_get(tx, &own) + 1 + tutti_get(tx, &late));
    if (w->after <= w->conflicts) overtake(w->changed);
    (void)tutti_get(tx, &latest);
}

static void body(tutti_tx* tx, void* argument) {
    struct work* const w = argument;
    ++w->before;
    (void)tutti_get(tx, &early);
    tutti_set(tx, &own, 10);
    w->local.steps = 1;
    strcpy(w->local.text, "before");
    const int result = tutti_checkpoint(tx, rest, w, w->saves ? &w->local : NULL, w->saves ? sizeof w->local : 0);
    CHECK_EQ(result, TUTTI_COMMITTED);
}

static struct work run(int conflicts, tutti_var* changed, bool saves) {
    tutti_var_store(&late, 0);
    struct work w = {.conflicts = concurrent() ? conflicts : 0, .changed = changed, .saves = saves};
    CHECK_EQ(tutti_atomically(NULL, body, &w), TUTTI_COMMITTED);
    return w;
}

static void a_continuation_is_part_of_the_transaction(void) {
    const struct work w = run(0, NULL, true);
    CHECK_EQ(w.before, 1);
    CHECK_EQ(w.after, 1);
    CHECK_EQ(w.local.steps, 2);
    CHECK_EQ(strcmp(w.local.text, "changed by the continuation"), 0);
    CHECK_EQ(tutti_var_load(&own), 11);
}

static void a_conflict_repeats_the_continuation_alone(void) {
    if (!concurrent()) return;
    const struct work w = run(3, &late, true);
    CHECK_EQ(w.before, 1);
    CHECK_EQ(w.after, 4);
    CHECK_EQ(w.local.steps, 2);
    CHECK_EQ(tutti_var_load(&own), 14);
}

static void locals_that_are_not_given_stay_changed(void) {
    if (!concurrent()) return;
    const struct work w = run(3, &late, false);
    CHECK_EQ(w.before, 1);
    CHECK_EQ(w.after, 4);
    CHECK_EQ(w.local.steps, 5);
}

static void a_conflict_before_the_checkpoint_repeats_everything(void) {
    if (!concurrent()) return;
    for (int i = 0; i < 100; ++i) {  // every copy that a jump skips is freed: the leak check verifies it
        const struct work w = run(1, &early, true);
        CHECK_EQ(w.before, 2);
        CHECK_EQ(w.after, 2);
        CHECK_EQ(w.local.steps, 2);
    }
}

// ---- a continuation that ends in another way ------------------------------------------------------------------------

struct ending {
    int runs;
    int left;  // the value that it left in its locals
    int result;
    tutti_body* how;
};

static void restart_twice(tutti_tx* tx, void* argument) {
    struct ending* const e = argument;
    tutti_set(tx, &own, tutti_get(tx, &own) + 1);
    CHECK_EQ(e->left, 5);
    ++e->left;
    if (++e->runs < 3) tutti_restart(tx);
}
static void cancel(tutti_tx* tx, void* argument) {
    struct ending* const e = argument;
    tutti_set(tx, &own, 99);
    ++e->left;
    tutti_cancel(tx);
}
static void misuse(tutti_tx* tx, void* argument) {
    struct ending* const e = argument;
    tutti_set(tx, &own, 99);
    ++e->left;
    tutti_on_commit(tx, NULL, NULL);
}

static void parent_of_an_ending(tutti_tx* tx, void* argument) {
    struct ending* const e = argument;
    e->left = 5;
    tutti_set(tx, &own, 10);
    e->result = tutti_checkpoint(tx, e->how, e, &e->left, sizeof e->left);
    CHECK_EQ(tutti_get(tx, &own), e->result == TUTTI_COMMITTED ? 11 : 10);
}

static void a_continuation_may_restart_cancel_or_fail(void) {
    struct ending e = {.how = restart_twice};
    CHECK_EQ(tutti_atomically(NULL, parent_of_an_ending, &e), TUTTI_COMMITTED);
    CHECK_EQ(e.result, TUTTI_COMMITTED);
    CHECK_EQ(e.runs, 3);
    CHECK_EQ(e.left, 6);
    CHECK_EQ(tutti_var_load(&own), 11);

    e = (struct ending){.how = cancel};
    CHECK_EQ(tutti_atomically(NULL, parent_of_an_ending, &e), TUTTI_COMMITTED);
    CHECK_EQ(e.result, TUTTI_CANCELLED);
    CHECK_EQ(e.left, 6);
    CHECK_EQ(tutti_var_load(&own), 10);

    e = (struct ending){.how = misuse};
    CHECK_EQ(tutti_atomically(NULL, parent_of_an_ending, &e), TUTTI_COMMITTED);
    CHECK_EQ(e.result, TUTTI_ERROR_USE);
    CHECK_TEXT(tutti_last_error(), "handler");
    CHECK_EQ(tutti_var_load(&own), 10);
}

// ---- several levels -------------------------------------------------------------------------------------------------

enum { levels = 6 };
static tutti_var data[levels];

struct descent {
    int level;
    int changed;
    int runs[levels];
};

static void descend(tutti_tx* tx, void* argument) {
    struct descent* const d = argument;
    const int level = d->level;
    ++d->runs[level];
    (void)tutti_get(tx, &data[level]);
    d->level = level + 1;
    if (d->level < levels) {
        // The roll-back restores the level, but not the counts.
        CHECK_EQ(tutti_checkpoint(tx, descend, d, &d->level, sizeof d->level), TUTTI_COMMITTED);
        CHECK_EQ(d->level, levels);
    } else {
        if (concurrent() && d->runs[level] == 1) overtake(&data[d->changed]);
        (void)tutti_get(tx, &latest);
    }
}

static void start_descent(tutti_tx* tx, void* argument) {
    struct descent* const d = argument;
    d->level = 0;
    descend(tx, d);
}

static void a_conflict_returns_to_its_checkpoint(void) {
    for (int changed = 0; changed < levels; ++changed) {
        struct descent d = {.changed = changed};
        CHECK_EQ(tutti_atomically(NULL, start_descent, &d), TUTTI_COMMITTED);
        for (int level = 0; level < levels; ++level) {
            CHECK_EQ(d.runs[level], concurrent() && level >= changed ? 2 : 1);
        }
    }
}

int main(void) {
    RUN(a_continuation_is_part_of_the_transaction);
    RUN(a_conflict_repeats_the_continuation_alone);
    RUN(locals_that_are_not_given_stay_changed);
    RUN(a_conflict_before_the_checkpoint_repeats_everything);
    RUN(a_continuation_may_restart_cancel_or_fail);
    RUN(a_conflict_returns_to_its_checkpoint);
    return check_status();
}
