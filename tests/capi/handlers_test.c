// Handlers and participants: when they run, in which order, and which actions they may take.
#include "check.h"
#include "tutti/tutti.h"

static tutti_var x = TUTTI_VAR_INIT(0);

/// The handlers that ran, in order, as letters.
static char trace[64];

static void append_to_trace(const char* what) { strncat(trace, what, sizeof trace - strlen(trace) - 1); }
static void trace_before(tutti_tx* tx, void* what) {
    (void)tx;
    append_to_trace(what);
}
static void trace_it(void* what) { append_to_trace(what); }
static void trace_abort(tutti_abort_cause cause, void* what) {
    (void)cause;
    append_to_trace(what);
}

static void reset(void) {
    trace[0] = 0;
    tutti_var_store(&x, 0);
}

static void register_all(tutti_tx* tx, void* cancel) {
    tutti_on_commit(tx, trace_it, "C");
    tutti_on_abort(tx, trace_abort, "X");
    tutti_at_commit(tx, trace_it, "A");
    tutti_before_commit(tx, trace_before, "B");
    tutti_on_commit(tx, trace_it, "c");
    tutti_on_abort(tx, trace_abort, "x");
    tutti_at_commit(tx, trace_it, "a");
    tutti_before_commit(tx, trace_before, "b");
    tutti_set(tx, &x, 1);
    if (*(bool*)cancel) tutti_cancel(tx);
}

static void handlers_run_in_the_order_of_their_points(void) {
    reset();
    bool cancel = false;
    CHECK_EQ(tutti_atomically(NULL, register_all, &cancel), TUTTI_COMMITTED);
    CHECK_TEXT(trace, "BbAaCc");
    CHECK_EQ(strlen(trace), 6);
    reset();
    cancel = true;
    CHECK_EQ(tutti_atomically(NULL, register_all, &cancel), TUTTI_CANCELLED);
    CHECK_TEXT(trace, "xX");
    CHECK_EQ(strlen(trace), 2);
}

static tutti_abort_cause told;
static void keep_cause(tutti_abort_cause cause, void* unused) {
    (void)unused;
    told = cause;
}

static void register_and_restart(tutti_tx* tx, void* unused) {
    (void)unused;
    if (tutti_attempt(tx) > 1) return;
    tutti_on_abort(tx, keep_cause, NULL);
    tutti_on_commit(tx, trace_it, "never");
    tutti_restart(tx);
}

static void on_abort_gets_the_cause(void) {
    reset();
    told = TUTTI_ABORT_NONE;
    CHECK_EQ(tutti_atomically(NULL, register_and_restart, NULL), TUTTI_COMMITTED);
    CHECK_EQ(told, TUTTI_ABORT_EXPLICIT_RESTART);
    CHECK_EQ(strlen(trace), 0);
}

// ---- before_commit runs inside the transaction
// ------------------------------------------------------------------------

static void double_x(tutti_tx* tx, void* unused) {
    (void)unused;
    tutti_set(tx, &x, 2 * tutti_get(tx, &x));
}
static void cancel_it(tutti_tx* tx, void* unused) {
    (void)unused;
    tutti_cancel(tx);
}
static void restart_once(tutti_tx* tx, void* unused) {
    (void)unused;
    if (tutti_attempt(tx) == 1) tutti_restart(tx);
}
static void register_another(tutti_tx* tx, void* unused) {
    (void)unused;
    tutti_before_commit(tx, double_x, NULL);
}
static void run_nested(tutti_tx* tx, void* unused) {
    (void)unused;
    CHECK_EQ(tutti_atomically(NULL, double_x, NULL), TUTTI_COMMITTED);
    CHECK_EQ(tutti_atomically(NULL, cancel_it, NULL), TUTTI_CANCELLED);
    CHECK_EQ(tutti_get(tx, &x), 6);
}

static void set_3_before(tutti_tx* tx, void* handler) {
    tutti_set(tx, &x, 3);
    tutti_before_commit(tx, *(tutti_body**)handler, NULL);
}

static void check_before(tutti_body* handler, int result, uint64_t value) {
    reset();
    CHECK_EQ(tutti_atomically(NULL, set_3_before, (void*)&handler), result);
    CHECK_EQ(tutti_var_load(&x), value);
}

static void before_commit_may_use_transactions_like_a_body(void) {
    check_before(double_x, TUTTI_COMMITTED, 6);
    check_before(register_another, TUTTI_COMMITTED, 6);
    check_before(run_nested, TUTTI_COMMITTED, 6);
    check_before(cancel_it, TUTTI_CANCELLED, 0);
    check_before(restart_once, TUTTI_COMMITTED, 3);
}

// ---- on_commit runs outside of the transaction
// ------------------------------------------------------------------------

static void increment(tutti_tx* tx, void* unused) {
    (void)unused;
    tutti_set(tx, &x, tutti_get(tx, &x) + 1);
}
static void run_another(void* result) { *(int*)result = tutti_atomically(NULL, increment, NULL); }

static void chain(tutti_tx* tx, void* result) {
    increment(tx, NULL);
    tutti_on_commit(tx, run_another, result);
}

static void on_commit_may_run_a_transaction(void) {
    reset();
    int result = -1;
    CHECK_EQ(tutti_atomically(NULL, chain, &result), TUTTI_COMMITTED);
    CHECK_EQ(result, TUTTI_COMMITTED);
    CHECK_EQ(tutti_var_load(&x), 2);
}

static void start_at_commit(tutti_tx* tx, void* result) {
    increment(tx, NULL);
    tutti_at_commit(tx, run_another, result);
}

static void at_commit_must_not_run_a_transaction(void) {
    reset();
    int result = -1;
    CHECK_EQ(tutti_atomically(NULL, start_at_commit, &result), TUTTI_COMMITTED);
    CHECK_EQ(result, TUTTI_ERROR_USE);
    CHECK(strlen(tutti_last_error()) > 0);
    CHECK_EQ(tutti_var_load(&x), 1);
}

// ---- nesting ------------------------------------------------------------------------------------------------------

static void child(tutti_tx* tx, void* cancel) {
    tutti_on_commit(tx, trace_it, "k");
    tutti_on_abort(tx, trace_abort, "r");
    if (*(bool*)cancel) tutti_cancel(tx);
}

static void parent(tutti_tx* tx, void* cancel) {
    tutti_on_commit(tx, trace_it, "1");
    tutti_on_abort(tx, trace_abort, "!");
    (void)tutti_atomically(NULL, child, cancel);
    append_to_trace("|");
    tutti_on_commit(tx, trace_it, "2");
}

static void a_child_owns_its_handlers(void) {
    reset();
    bool cancel = true;
    CHECK_EQ(tutti_atomically(NULL, parent, &cancel), TUTTI_COMMITTED);
    CHECK_EQ(strcmp(trace, "r|12"), 0);
    reset();
    cancel = false;
    CHECK_EQ(tutti_atomically(NULL, parent, &cancel), TUTTI_COMMITTED);
    CHECK_EQ(strcmp(trace, "|1k2"), 0);
}

// ---- participants ---------------------------------------------------------------------------------------------------

struct party {
    const char* name;
    tutti_vote votes[2];
    unsigned asked;
};

static tutti_vote party_prepare(void* argument) {
    struct party* const p = argument;
    append_to_trace("p");
    append_to_trace(p->name);
    return p->votes[p->asked++ != 0];
}
static void party_commit(void* argument) {
    append_to_trace("c");
    append_to_trace(((struct party*)argument)->name);
}
static void party_abort(void* argument) {
    append_to_trace("a");
    append_to_trace(((struct party*)argument)->name);
}
static const tutti_participant calls = {party_prepare, party_commit, party_abort};

static void join_two(tutti_tx* tx, void* parties) {
    increment(tx, NULL);
    tutti_join(tx, &calls, &((struct party*)parties)[0]);
    tutti_join(tx, &calls, &((struct party*)parties)[1]);
}

static void check_parties(tutti_vote first, tutti_vote second, int result, const char* expected) {
    reset();
    struct party parties[2] = {{"1", {first, TUTTI_VOTE_COMMIT}, 0}, {"2", {second, TUTTI_VOTE_COMMIT}, 0}};
    CHECK_EQ(tutti_atomically(NULL, join_two, parties), result);
    CHECK_TEXT(trace, expected);
    CHECK_EQ(strlen(trace), strlen(expected));
    CHECK_EQ(tutti_var_load(&x), result == TUTTI_COMMITTED);
}

static void participants_commit_or_abort_with_the_block(void) {
    check_parties(TUTTI_VOTE_COMMIT, TUTTI_VOTE_COMMIT, TUTTI_COMMITTED, "p1p2c1c2");
    check_parties(TUTTI_VOTE_CANCEL, TUTTI_VOTE_COMMIT, TUTTI_CANCELLED, "p1a1");
    check_parties(TUTTI_VOTE_COMMIT, TUTTI_VOTE_CANCEL, TUTTI_CANCELLED, "p1p2a1a2");
    check_parties(TUTTI_VOTE_COMMIT, TUTTI_VOTE_RESTART, TUTTI_COMMITTED, "p1p2a1a2p1p2c1c2");
}

static void join_and_cancel(tutti_tx* tx, void* p) {
    tutti_join(tx, &calls, p);
    tutti_cancel(tx);
}

static void parent_of_a_party(tutti_tx* tx, void* p) {
    increment(tx, NULL);
    CHECK_EQ(tutti_atomically(NULL, join_and_cancel, p), TUTTI_CANCELLED);
}

static void a_cancelled_block_leaves_no_participant(void) {
    reset();
    struct party p = {"1", {TUTTI_VOTE_CANCEL, TUTTI_VOTE_CANCEL}, 0};
    CHECK_EQ(tutti_atomically(NULL, join_and_cancel, &p), TUTTI_CANCELLED);
    CHECK_EQ(tutti_atomically(NULL, parent_of_a_party, &p), TUTTI_COMMITTED);
    CHECK_EQ(strlen(trace), 0);
}

int main(void) {
    RUN(handlers_run_in_the_order_of_their_points);
    RUN(on_abort_gets_the_cause);
    RUN(before_commit_may_use_transactions_like_a_body);
    RUN(on_commit_may_run_a_transaction);
    RUN(at_commit_must_not_run_a_transaction);
    RUN(a_child_owns_its_handlers);
    RUN(participants_commit_or_abort_with_the_block);
    RUN(a_cancelled_block_leaves_no_participant);
    return check_status();
}
