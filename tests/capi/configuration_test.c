// The choice of the algorithm, and statistics in C.
#include "check.h"
#include "tutti/tutti.h"

static tutti_var x = TUTTI_VAR_INIT(0);

static void add_one(tutti_tx* tx, void* unused) {
    (void)unused;
    tutti_set(tx, &x, tutti_get(tx, &x) + 1);
}

static void the_algorithm_can_be_chosen_once(void) {
    const char* const wanted = getenv("TUTTI_ALGORITHM");
    if (wanted != NULL) CHECK_EQ(strcmp(tutti_algorithm(), wanted), 0);

    CHECK_EQ(tutti_use_algorithm("no such thing"), TUTTI_ERROR_USE);
    CHECK_EQ(tutti_use_algorithm(NULL), TUTTI_ERROR_USE);

    size_t count = 0;
    bool in_force_is_listed = false;
    const char* name;
    for (; (name = tutti_algorithm_name(count)) != NULL; ++count) {
        CHECK(strlen(tutti_algorithm_summary(count)) > 0);
        if (strcmp(name, tutti_algorithm()) == 0) in_force_is_listed = true;
    }
    CHECK(count >= 1);
    CHECK(in_force_is_listed);
    CHECK(tutti_algorithm_summary(count) == NULL);
    CHECK(tutti_algorithm_name(SIZE_MAX) == NULL);

    CHECK_EQ(tutti_use_algorithm("no such thing"), TUTTI_ERROR_USE);
    CHECK_TEXT(tutti_last_error(), tutti_algorithm_name(0));  // it lists the available ones

    const char* const last = tutti_algorithm_name(count - 1);
    CHECK_EQ(tutti_use_algorithm(last), 0);
    CHECK_EQ(strcmp(tutti_algorithm(), last), 0);
    CHECK_EQ(tutti_atomically(NULL, add_one, NULL), TUTTI_COMMITTED);
    CHECK_EQ(tutti_use_algorithm(tutti_algorithm_name(0)), TUTTI_ERROR_USE);
    CHECK_EQ(strcmp(tutti_algorithm(), last), 0);
}

struct found {
    unsigned named, here, elsewhere;
};

static void check_site(const tutti_site_statistics* site, void* argument) {
    struct found* const f = argument;
    CHECK_EQ(site->abort_causes, TUTTI_ABORT_SNAPSHOT_FULL + 1);
    uint64_t aborts = 0, commits = 0;
    for (size_t i = 0; i < site->abort_causes; ++i) aborts += site->aborts_by_cause[i];
    CHECK_EQ(aborts, site->aborts);
    for (size_t i = 0; i < site->restart_classes; ++i) commits += site->commits_by_restarts[i];
    CHECK_EQ(commits, site->commits);
    CHECK_EQ(site->partial_rollbacks, 0);
    if (strcmp(site->name, "bump") == 0) {
        ++f->named;
        CHECK_EQ(site->commits, 5);
    }
    if (site->name[0] == 0 && strstr(site->file, "configuration_test.c") != NULL) {
        ++f->here;
        CHECK(site->commits == 3 || site->commits == 7);
        CHECK(site->line > 0);
        CHECK_TEXT(site->function, "blocks_are_counted_by_site");
    }
    if (site->file[0] == 0) {
        ++f->elsewhere;
        CHECK_EQ(site->commits, 2);
    }
}

static void blocks_are_counted_by_site(void) {
    CHECK_EQ(tutti_enable_statistics(true), 0);
    CHECK_EQ(tutti_reset_statistics(), 0);
    for (int i = 0; i < 3; ++i) CHECK_EQ(tutti_atomically(NULL, add_one, NULL), TUTTI_COMMITTED);
    for (int i = 0; i < 7; ++i) CHECK_EQ(tutti_atomically(NULL, add_one, NULL), TUTTI_COMMITTED);
    for (int i = 0; i < 2; ++i) CHECK_EQ((tutti_atomically)(NULL, add_one, NULL), TUTTI_COMMITTED);
    for (int i = 0; i < 5; ++i) {
        CHECK_EQ(tutti_atomically(&TUTTI_OPTIONS(.name = "bump"), add_one, NULL), TUTTI_COMMITTED);
    }
    struct found f = {0, 0, 0};
    CHECK_EQ(tutti_statistics(check_site, &f), 0);
    CHECK_EQ(f.named, 1);
    CHECK_EQ(f.here, 2);
    CHECK_EQ(f.elsewhere, 1);

    char* text = NULL;
    size_t size = 0;
    FILE* const table = open_memstream(&text, &size);
    CHECK_EQ(tutti_print_statistics(table), 0);
    fclose(table);
    CHECK_TEXT(text, "bump");
    free(text);

    CHECK_EQ(tutti_print_statistics(NULL), TUTTI_ERROR_USE);
    CHECK_EQ(tutti_statistics(NULL, NULL), TUTTI_ERROR_USE);
    CHECK_EQ(tutti_reset_statistics(), 0);
    CHECK_EQ(tutti_enable_statistics(false), 0);
    f = (struct found){0, 0, 0};
    CHECK_EQ(tutti_statistics(check_site, &f), 0);
    CHECK_EQ(f.named + f.here + f.elsewhere, 0);
}

int main(void) {
    RUN(the_algorithm_can_be_chosen_once);
    RUN(blocks_are_counted_by_site);
    return check_status();
}
