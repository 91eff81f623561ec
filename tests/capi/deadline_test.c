// Deadlines: the reported outcome of a block, the refusal of a block, and diagnosed errors.
#include <time.h>

#include "check.h"
#include "tutti/tutti.h"

static tutti_var x = TUTTI_VAR_INIT(0);

static const uint64_t day = 24ull * 3600 * 1000000000;

static uint64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void increment(tutti_tx* tx, void* irrevocable) {
    tutti_set(tx, &x, tutti_get(tx, &x) + 1);
    if (irrevocable != NULL) *(bool*)irrevocable = tutti_is_irrevocable(tx);
}

/// Returns true if a block that requests no mode may have committed in this one. Under htm, a block becomes irrevocable
/// after failures in hardware.
static bool is_usual(int mode) {
    return mode == TUTTI_OPTIMISTIC || (mode == TUTTI_IRREVOCABLE && strcmp(tutti_algorithm(), "htm") == 0);
}

static void a_deadline_is_met(void) {
    tutti_var_store(&x, 0);
    tutti_deadline_outcome outcome = {0};
    CHECK_EQ(tutti_atomically(&TUTTI_OPTIONS(.deadline = day, .outcome = &outcome), increment, NULL), TUTTI_COMMITTED);
    CHECK(outcome.committed && outcome.met);
    CHECK(is_usual(outcome.mode));
    CHECK(outcome.left > 0);
    const tutti_options visible = {
        .struct_size = sizeof visible, .mode = TUTTI_VISIBLE, .deadline_at = now() + day, .outcome = &outcome};
    CHECK_EQ(tutti_atomically(&visible, increment, NULL), TUTTI_COMMITTED);
    CHECK(outcome.committed && outcome.met);
    CHECK_EQ(outcome.mode, TUTTI_VISIBLE);
    // An infinite deadline is not an error.
    CHECK_EQ(tutti_atomically(&TUTTI_OPTIONS(.deadline = UINT64_MAX), increment, NULL), TUTTI_COMMITTED);
    CHECK_EQ(tutti_var_load(&x), 3);
}

static void a_past_deadline_is_missed(void) {
    tutti_var_store(&x, 0);
    bool irrevocable = true;
    tutti_deadline_outcome outcome = {0};
    const uint64_t passed = now() - 1;
    CHECK_EQ(tutti_atomically(&TUTTI_OPTIONS(.deadline_at = passed, .outcome = &outcome), increment, &irrevocable),
             TUTTI_COMMITTED);
    CHECK(outcome.committed && !outcome.met && !irrevocable);
    CHECK(outcome.left < 0);
    CHECK_EQ(tutti_atomically(
                 &TUTTI_OPTIONS(.deadline_at = passed, .when_missed = TUTTI_RUN_IRREVOCABLE, .outcome = &outcome),
                 increment, &irrevocable),
             TUTTI_COMMITTED);
    CHECK(outcome.committed && !outcome.met && !irrevocable);  // the body was not promised to run only once
    CHECK_EQ(outcome.mode, TUTTI_IRREVOCABLE);
    CHECK_EQ(tutti_atomically(&TUTTI_OPTIONS(.deadline_at = passed, .when_missed = TUTTI_REFUSE, .outcome = &outcome),
                              increment, &irrevocable),
             TUTTI_DEADLINE_MISSED);
    CHECK(!outcome.committed);
    CHECK_EQ(tutti_var_load(&x), 2);
    CHECK_TEXT(tutti_strerror(TUTTI_DEADLINE_MISSED), "deadline");
}

static void wait_forever(tutti_tx* tx, void* argument) {
    (void)argument;
    tutti_set(tx, &x, tutti_get(tx, &x) + 1);
    tutti_retry(tx);
}

static void a_wait_ends_with_the_deadline(void) {
    tutti_var_store(&x, 0);
    CHECK_EQ(tutti_atomically(&TUTTI_OPTIONS(.deadline = 2000000, .when_missed = TUTTI_REFUSE), wait_forever, NULL),
             TUTTI_DEADLINE_MISSED);
    CHECK_EQ(tutti_var_load(&x), 0);
}

static void check_error(const tutti_options* how, const char* about) {
    CHECK_EQ(tutti_atomically(how, increment, NULL), TUTTI_ERROR_USE);
    CHECK_TEXT(tutti_last_error(), about);
}

static void invalid_options_are_errors(void) {
    tutti_var_store(&x, 0);
    check_error(&TUTTI_OPTIONS(.deadline = day, .deadline_at = now() + day), "deadline_at");
    check_error(&TUTTI_OPTIONS(.deadline = day, .qos = 1.5), "qos");
    check_error(&TUTTI_OPTIONS(.deadline = day, .qos = -0.5), "qos");
    check_error(&TUTTI_OPTIONS(.deadline = day, .when_missed = 3), "when_missed");
    check_error(&TUTTI_OPTIONS(.deadline = day, .visible_factor = 2), "visible_factor");
    check_error(&TUTTI_OPTIONS(.deadline = day, .deadline_samples = 1000000), "samples");
    CHECK_EQ(tutti_var_load(&x), 0);
    CHECK_EQ(tutti_atomically(&TUTTI_OPTIONS(.deadline = day, .qos = 0.5, .visible_factor = 3, .irrevocable_factor = 2,
                                             .deadline_samples = 16),
                              increment, NULL),
             TUTTI_COMMITTED);
}

// Passes the options as a program does that was compiled before the structure had deadlines. Arbitrary bytes of the
// stack follow the older structure.
static void an_older_structure_is_accepted(void) {
    tutti_options how;
    memset(&how, 0xff, sizeof how);
    how.struct_size = offsetof(tutti_options, deadline);
    how.name = "older";
    how.read_only = false;
    how.mode = TUTTI_OPTIMISTIC;
    how.privatization = TUTTI_PRIVATIZATION_SAFE;
    how.nesting = TUTTI_NESTING_CLOSED;
    CHECK_EQ(tutti_atomically(&how, increment, NULL), TUTTI_COMMITTED);
}

static void find_counts(const tutti_site_statistics* site, void* found) {
    if (strcmp(site->name, "counted") != 0) return;
    *(bool*)found = true;
    CHECK_EQ(site->modes, 3);
    uint64_t met = 0, missed = 0;
    for (int mode = 0; mode < (int)site->modes; ++mode) {
        met += site->deadlines_met[mode];
        missed += site->deadlines_missed[mode];
        CHECK(is_usual(mode) || site->deadlines_met[mode] + site->deadlines_missed[mode] == 0);
    }
    CHECK_EQ(met, 2);
    CHECK_EQ(missed, 1);
    CHECK_EQ(site->deadlines_refused, 1);
}

static void deadlines_are_counted(void) {
    tutti_enable_statistics(true);
    tutti_reset_statistics();
    const uint64_t passed = now() - 1;
    const tutti_options each[] = {
        TUTTI_OPTIONS(.name = "counted", .deadline = day),
        TUTTI_OPTIONS(.name = "counted", .deadline = day),
        TUTTI_OPTIONS(.name = "counted", .deadline_at = passed),
        TUTTI_OPTIONS(.name = "counted", .deadline_at = passed, .when_missed = TUTTI_REFUSE),
    };
    for (size_t i = 0; i < sizeof each / sizeof *each; ++i) tutti_atomically(&each[i], increment, NULL);
    tutti_enable_statistics(false);
    bool found = false;
    CHECK_EQ(tutti_statistics(find_counts, &found), 0);
    CHECK(found);
}

int main(void) {
    RUN(a_deadline_is_met);
    RUN(a_past_deadline_is_missed);
    RUN(a_wait_ends_with_the_deadline);
    RUN(invalid_options_are_errors);
    RUN(an_older_structure_is_accepted);
    RUN(deadlines_are_counted);
    return check_status();
}
