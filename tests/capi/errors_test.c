// Usage errors are diagnosed, rolled back and reported; the next block is not affected.
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "tutti/tutti.h"

static tutti_var x = TUTTI_VAR_INIT(0);
static uint64_t plain[4];
static bool went_on;

static void set_only(tutti_tx* tx, void* unused) {
    (void)unused;
    tutti_set(tx, &x, tutti_get(tx, &x) + 1);
}

/// Runs a faulty body. Checks the message, that nothing happened, and that the interface works afterwards.
static void check_error(const tutti_options* how, tutti_body* body, const char* text) {
    tutti_var_store(&x, 0);
    memset(plain, 0, sizeof plain);
    went_on = false;
    CHECK_EQ(tutti_atomically(how, body, NULL), TUTTI_ERROR_USE);
    CHECK_TEXT(tutti_last_error(), text);
    CHECK(!went_on);
    CHECK_EQ(tutti_var_load(&x), 0);
    CHECK_EQ(plain[0], 0);
    CHECK(tutti_current() == NULL);
    CHECK_EQ(tutti_atomically(NULL, set_only, NULL), TUTTI_COMMITTED);
    CHECK_EQ(tutti_var_load(&x), 1);
}

static void write_var(tutti_tx* tx, void* unused) {
    (void)unused;
    tutti_set(tx, &x, 5);
    went_on = true;
}
static void write_plain(tutti_tx* tx, void* unused) {
    (void)unused;
    tutti_store_u64(tx, plain, 5);
    went_on = true;
}
static void write_range(tutti_tx* tx, void* unused) {
    (void)unused;
    tutti_fill(tx, plain, 5, sizeof plain);
    went_on = true;
}

static void a_write_in_a_read_only_block(void) {
    const tutti_options how = {.struct_size = sizeof how, .read_only = true};
    check_error(&how, write_var, "read");
    check_error(&how, write_plain, "read");
    check_error(&how, write_range, "read");
}

static void retry_at_once(tutti_tx* tx, void* unused) {
    (void)unused;
    tutti_retry(tx);
}
static void retry_when_irrevocable(tutti_tx* tx, void* unused) {
    tutti_set(tx, &x, 5);
    tutti_become_irrevocable(tx, "test");
    retry_at_once(tx, unused);
}
static void restart_when_irrevocable(tutti_tx* tx, void* unused) {
    (void)unused;
    tutti_set(tx, &x, 5);
    tutti_become_irrevocable(tx, "test");
    tutti_restart(tx);
}
static void visible_when_irrevocable(tutti_tx* tx, void* unused) {
    (void)unused;
    tutti_set(tx, &x, 5);
    tutti_become_irrevocable(tx, "test");
    tutti_become_visible(tx);
    went_on = true;
}

static void signals_in_irrevocable_blocks(void) {
    check_error(NULL, retry_at_once, "retry");
    check_error(NULL, retry_when_irrevocable, "irrevocable");
    check_error(NULL, restart_when_irrevocable, "irrevocable");
    check_error(NULL, visible_when_irrevocable, "irrevocable");
}

static uintptr_t misaligned(void) { return (uintptr_t)plain + 2; }

static void load_misaligned(tutti_tx* tx, void* unused) {
    (void)unused;
    tutti_set(tx, &x, 5);
    (void)tutti_load_u32(tx, (const uint32_t*)misaligned());
    went_on = true;
}
static void store_misaligned(tutti_tx* tx, void* unused) {
    (void)unused;
    tutti_set(tx, &x, 5);
    tutti_store_ptr(tx, (void**)misaligned(), NULL);
    went_on = true;
}

static void misaligned_addresses(void) {
    check_error(NULL, load_misaligned, "tutti_read");
    check_error(NULL, store_misaligned, "tutti_write");
}

static void join_null(tutti_tx* tx, void* unused) {
    (void)unused;
    const tutti_participant incomplete = {NULL, NULL, NULL};
    tutti_set(tx, &x, 5);
    tutti_join(tx, &incomplete, NULL);
    went_on = true;
}
static void handle_null(tutti_tx* tx, void* unused) {
    (void)unused;
    tutti_set(tx, &x, 5);
    tutti_on_commit(tx, NULL, NULL);
    went_on = true;
}
static void no_alternatives(tutti_tx* tx, void* unused) {
    (void)unused;
    tutti_set(tx, &x, 5);
    (void)tutti_or_else(tx, NULL, 0);
    went_on = true;
}

static void rest_is_null(tutti_tx* tx, void* unused) {
    (void)unused;
    tutti_set(tx, &x, 5);
    (void)tutti_checkpoint(tx, NULL, NULL, NULL, 0);
    went_on = true;
}
static void locals_are_null(tutti_tx* tx, void* unused) {
    (void)unused;
    tutti_set(tx, &x, 5);
    (void)tutti_checkpoint(tx, set_only, NULL, NULL, 8);
    went_on = true;
}

static void null_arguments(void) {
    check_error(NULL, NULL, "body");
    check_error(NULL, join_null, "participant");
    check_error(NULL, handle_null, "handler");
    check_error(NULL, no_alternatives, "alternative");
    check_error(NULL, rest_is_null, "tutti_checkpoint");
    check_error(NULL, locals_are_null, "locals");
}

static void invalid_options(void) {
    tutti_options how = {0};
    check_error(&how, set_only, "struct_size");
    how = (tutti_options)TUTTI_OPTIONS_INIT;
    how.mode = 17;
    check_error(&how, set_only, "mode");
    how = (tutti_options)TUTTI_OPTIONS_INIT;
    how.privatization = -1;
    check_error(&how, set_only, "privatization");
    how = (tutti_options)TUTTI_OPTIONS_INIT;
    how.nesting = 2;
    check_error(&how, set_only, "nesting");
}

/// The structure as a program of a later version passes it.
struct larger_options {
    tutti_options known;
    uint64_t unknown[2];
};

static void options_of_a_later_version(void) {
    struct larger_options how = {TUTTI_OPTIONS_INIT, {0, 0}};
    how.known.struct_size = sizeof how;
    tutti_var_store(&x, 0);
    CHECK_EQ(tutti_atomically(&how.known, set_only, NULL), TUTTI_COMMITTED);
    CHECK_EQ(tutti_var_load(&x), 1);
    how.unknown[1] = 1;
    check_error(&how.known, set_only, "does not know");
}

// ---- the place at which the error is reported
// ------------------------------------------------------------------------

static void parent_of_an_error(tutti_tx* tx, void* unused) {
    (void)unused;
    tutti_set(tx, &x, 1);
    CHECK_EQ(tutti_atomically(NULL, store_misaligned, NULL), TUTTI_ERROR_USE);
    CHECK_EQ(tutti_get(tx, &x), 1);
    const tutti_alternative ways[] = {{store_misaligned, NULL}, {write_var, NULL}};
    CHECK_EQ(tutti_or_else(tx, ways, 2), TUTTI_ERROR_USE);
    CHECK_EQ(tutti_get(tx, &x), 1);
}

static void a_nested_block_reports_its_error(void) {
    tutti_var_store(&x, 0);
    went_on = false;
    CHECK_EQ(tutti_atomically(NULL, parent_of_an_error, NULL), TUTTI_COMMITTED);
    CHECK_EQ(tutti_var_load(&x), 1);
    CHECK(!went_on);
}

static void error_before_commit(tutti_tx* tx, void* unused) {
    (void)unused;
    tutti_set(tx, &x, 5);
    tutti_before_commit(tx, store_misaligned, NULL);
}

static void an_error_in_a_handler_is_the_result_of_the_block(void) {
    check_error(NULL, error_before_commit, "tutti_write");
}

static tutti_abort_cause told;
static void keep_cause(tutti_abort_cause cause, void* unused) {
    (void)unused;
    told = cause;
}
static void error_with_handler(tutti_tx* tx, void* unused) {
    tutti_on_abort(tx, keep_cause, NULL);
    store_misaligned(tx, unused);
}

static void on_abort_handlers_run_after_an_error(void) {
    told = TUTTI_ABORT_NONE;
    check_error(NULL, error_with_handler, "tutti_write");
    CHECK_EQ(told, TUTTI_ABORT_USAGE);
}

static void* other_thread(void* unused) {
    (void)unused;
    CHECK_EQ(strlen(tutti_last_error()), 0);
    return NULL;
}

static void the_text_belongs_to_the_thread(void) {
    CHECK_EQ(tutti_atomically(NULL, NULL, NULL), TUTTI_ERROR_USE);
    pthread_t thread;
    CHECK_EQ(pthread_create(&thread, NULL, other_thread, NULL), 0);
    pthread_join(thread, NULL);
    CHECK(strlen(tutti_last_error()) > 0);
}

static void every_result_has_a_text(void) {
    CHECK_TEXT(tutti_strerror(TUTTI_COMMITTED), "committed");
    CHECK_TEXT(tutti_strerror(TUTTI_CANCELLED), "cancelled");
    CHECK_TEXT(tutti_strerror(TUTTI_ERROR_USE), "use");
    CHECK_TEXT(tutti_strerror(TUTTI_ERROR_MEMORY), "memory");
    CHECK(strlen(tutti_strerror(12345)) > 0);
    CHECK_EQ(strcmp(tutti_abort_cause_name(TUTTI_ABORT_EXPLICIT_CANCEL), "explicit_cancel"), 0);
    CHECK_EQ(strcmp(tutti_abort_cause_name(TUTTI_ABORT_USAGE), "usage"), 0);
}

// ---- without a block, the error cannot be reported
// --------------------------------------------------------------------

static tutti_tx* stale;
static void leak_handle(tutti_tx* tx, void* unused) {
    (void)unused;
    stale = tx;
}

static void set_stale(void) { tutti_set(stale, &x, 1); }
static void checkpoint_stale(void) { (void)tutti_checkpoint(stale, set_only, NULL, NULL, 0); }

/// Runs `use` in a process of its own.
static void check_end_of_program(void (*use)(void)) {
    int output[2];
    CHECK_EQ(pipe(output), 0);
    const pid_t child = fork();
    if (child == 0) {
        dup2(output[1], STDERR_FILENO);
        signal(SIGABRT, SIG_DFL);
        use();
        _exit(0);
    }
    close(output[1]);
    char text[512] = "";
    CHECK(read(output[0], text, sizeof text - 1) > 0);
    close(output[0]);
    int status = 0;
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    CHECK_TEXT(text, "tutti");
}

static void a_stale_handle_ends_the_program(void) {
    CHECK_EQ(tutti_atomically(NULL, leak_handle, NULL), TUTTI_COMMITTED);
    check_end_of_program(set_stale);
    check_end_of_program(checkpoint_stale);
}

int main(void) {
    RUN(a_write_in_a_read_only_block);
    RUN(signals_in_irrevocable_blocks);
    RUN(misaligned_addresses);
    RUN(null_arguments);
    RUN(invalid_options);
    RUN(options_of_a_later_version);
    RUN(a_nested_block_reports_its_error);
    RUN(an_error_in_a_handler_is_the_result_of_the_block);
    RUN(on_abort_handlers_run_after_an_error);
    RUN(the_text_belongs_to_the_thread);
    RUN(every_result_has_a_text);
    RUN(a_stale_handle_ends_the_program);
    return check_status();
}
