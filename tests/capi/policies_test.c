// The choice of the policy, for the process and for a block. Run with TUTTI_POLICY=timestamp.
#include <pthread.h>
#include <sched.h>
#include <stddef.h>

#include "check.h"
#include "tutti/tutti.h"

static void the_policy_can_be_changed_at_any_time(void) {
    CHECK_EQ(strcmp(tutti_policy_in_force(), "timestamp"), 0);

    static tutti_var x = TUTTI_VAR_INIT(0);
    size_t count = 0;
    const char* name;
    for (; (name = tutti_policy_name(count)) != NULL; ++count) {
        CHECK(strlen(tutti_policy_summary(count)) > 0);
        CHECK_EQ(tutti_use_policy(name), 0);
        CHECK_EQ(strcmp(tutti_policy_in_force(), name), 0);
        tutti_var_store(&x, count);
    }
    CHECK_EQ(count, TUTTI_POLICY_SERIALIZE_SOFT_KERNEL);
    CHECK(tutti_policy_summary(count) == NULL);
    CHECK(tutti_policy_name(SIZE_MAX) == NULL);
    CHECK_EQ(strcmp(tutti_policy_name(TUTTI_POLICY_PATIENT - 1), "patient"), 0);
    CHECK_EQ(strcmp(tutti_policy_name(TUTTI_POLICY_SERIALIZE_SOFT - 1), "serialize-soft"), 0);

    const char* const last = tutti_policy_name(count - 1);
    CHECK_EQ(tutti_use_policy("no such thing"), TUTTI_ERROR_USE);
    CHECK_TEXT(tutti_last_error(), last);  // it lists the available ones
    CHECK_EQ(tutti_use_policy(NULL), TUTTI_ERROR_USE);
    CHECK_EQ(strcmp(tutti_policy_in_force(), last), 0);
    CHECK_EQ(tutti_use_policy("patient"), 0);
}

// ---- policies of a block
// ----------------------------------------------------------------------------------------------

static tutti_var contended = TUTTI_VAR_INIT(0);

/// Two blocks that write the same variable; the second one runs while the first owns it.
struct conflict {
    tutti_options first, second;
    pthread_t thread;
    unsigned attempts;  ///< attempts of the first block
    bool to_be_killed;
};

static void write_it(tutti_tx* tx, void* unused) {
    (void)unused;
    tutti_set(tx, &contended, 2);
}

static void* run_second(void* argument) {
    const struct conflict* const m = argument;
    CHECK_EQ(tutti_atomically(&m->second, write_it, NULL), TUTTI_COMMITTED);
    return NULL;
}

static void own_variable(tutti_tx* tx, void* argument) {
    struct conflict* const m = argument;
    tutti_set(tx, &contended, 1);
    if (++m->attempts > 1) return;
    pthread_create(&m->thread, NULL, run_second, m);
    // Loops until this block is killed. If it must not be killed, the loop gives the second block time for a faulty
    // action.
    for (int i = 0; m->to_be_killed || i < 10000; ++i) {
        (void)tutti_get(tx, &contended);
        sched_yield();
    }
}

static void run_conflict(struct conflict* m) {
    CHECK_EQ(tutti_atomically(&m->first, own_variable, m), TUTTI_COMMITTED);
    pthread_join(m->thread, NULL);
    CHECK_EQ(m->attempts, m->to_be_killed ? 2 : 1);
}

static void a_block_has_its_own_policy(void) {
    run_conflict(&(struct conflict){
        .first = TUTTI_OPTIONS_INIT, .second = TUTTI_OPTIONS(.policy = TUTTI_POLICY_AGGRESSIVE), .to_be_killed = true});
    run_conflict(&(struct conflict){.first = TUTTI_OPTIONS_INIT, .second = TUTTI_OPTIONS_INIT});
}

static void the_higher_priority_wins(void) {
    const tutti_options low = TUTTI_OPTIONS(.policy = TUTTI_POLICY_PRIORITY, .priority = -1);
    const tutti_options high = TUTTI_OPTIONS(.policy = TUTTI_POLICY_PRIORITY, .priority = 1);
    run_conflict(&(struct conflict){.first = low, .second = high, .to_be_killed = true});
    run_conflict(&(struct conflict){.first = high, .second = low});
}

static void an_unknown_policy_is_an_error(void) {
    tutti_var_store(&contended, 0);
    const int wrong[] = {-1, TUTTI_POLICY_SERIALIZE_SOFT_KERNEL + 1};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
        CHECK_EQ(tutti_atomically(&TUTTI_OPTIONS(.policy = wrong[i]), write_it, NULL), TUTTI_ERROR_USE);
        CHECK_TEXT(tutti_last_error(), "policy");
    }
    CHECK_EQ(tutti_var_load(&contended), 0);
}

// Passes the options as a program does that was compiled before the structure had policies. Arbitrary bytes of the
// stack follow the older structure.
static void an_older_structure_is_accepted(void) {
    tutti_options how;
    memset(&how, 0xff, sizeof how);
    const tutti_options defaults = TUTTI_OPTIONS_INIT;
    memcpy(&how, &defaults, offsetof(tutti_options, policy));
    how.struct_size = offsetof(tutti_options, policy);
    CHECK_EQ(tutti_atomically(&how, write_it, NULL), TUTTI_COMMITTED);
}

int main(void) {
    RUN(the_policy_can_be_changed_at_any_time);
    RUN(a_block_has_its_own_policy);
    RUN(the_higher_priority_wins);
    RUN(an_unknown_policy_is_an_error);
    RUN(an_older_structure_is_accepted);
    return check_status();
}
