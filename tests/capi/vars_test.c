// Variables of every type, inside transactions and outside.
#include <math.h>
#include <pthread.h>

#include "check.h"
#include "tutti/tutti.h"

static int object;
static tutti_var integer = TUTTI_VAR_INIT(-3);
static tutti_var pointer = TUTTI_VAR_INIT((uintptr_t)&object);

static void initialisers_set_values(void) {
    CHECK_EQ(tutti_var_load_i64(&integer), -3);
    CHECK(tutti_var_load_ptr(&pointer) == &object);
    CHECK_EQ((uintptr_t)&integer % 16, 0);
    CHECK_EQ(sizeof(tutti_var), 16);

    tutti_var fresh[3];
    tutti_var_init(&fresh[0], UINT64_MAX);
    tutti_var_init_ptr(&fresh[1], &object);
    tutti_var_init_double(&fresh[2], 2.5);
    CHECK(tutti_var_load(&fresh[0]) == UINT64_MAX);
    CHECK(tutti_var_load_ptr(&fresh[1]) == &object);
    CHECK(tutti_var_load_double(&fresh[2]) == 2.5);
}

static void stores_outside_are_visible(void) {
    tutti_var v = TUTTI_VAR_INIT(0);
    tutti_var_store(&v, 1);
    CHECK_EQ(tutti_var_load(&v), 1);
    tutti_var_store_i64(&v, INT64_MIN);
    CHECK(tutti_var_load_i64(&v) == INT64_MIN);
    tutti_var_store_double(&v, -0.0);
    CHECK(signbit(tutti_var_load_double(&v)));
    tutti_var_store_ptr(&v, &v);
    CHECK(tutti_var_load_ptr(&v) == &v);
    tutti_var_store_ptr(&v, NULL);
    CHECK(tutti_var_load_ptr(&v) == NULL);
}

struct four {
    tutti_var u, i, p, d;
};

static void set_all(tutti_tx* tx, void* argument) {
    struct four* const f = argument;
    tutti_set(tx, &f->u, UINT64_MAX - 1);
    tutti_set_i64(tx, &f->i, -42);
    tutti_set_ptr(tx, &f->p, f);
    tutti_set_double(tx, &f->d, 0.1);
    // The block reads its own writes.
    CHECK(tutti_get(tx, &f->u) == UINT64_MAX - 1);
    CHECK_EQ(tutti_get_i64(tx, &f->i), -42);
    CHECK(tutti_get_ptr(tx, &f->p) == f);
    CHECK(tutti_get_double(tx, &f->d) == 0.1);
    // Loads and stores of this thread are part of its transaction.
    CHECK_EQ(tutti_var_load_i64(&f->i), -42);
    tutti_var_store_i64(&f->i, -43);
    CHECK_EQ(tutti_get_i64(tx, &f->i), -43);
}

static void get_all(tutti_tx* tx, void* argument) {
    const struct four* const f = argument;
    CHECK(tutti_get(tx, &f->u) == UINT64_MAX - 1);
    CHECK_EQ(tutti_get_i64(tx, &f->i), -43);
    CHECK(tutti_get_ptr(tx, &f->p) == f);
    CHECK(tutti_get_double(tx, &f->d) == 0.1);
}

static void every_type_is_read_and_written(void) {
    struct four f = {TUTTI_VAR_INIT(0), TUTTI_VAR_INIT(0), TUTTI_VAR_INIT(0), TUTTI_VAR_INIT(0)};
    CHECK_EQ(tutti_atomically(NULL, set_all, &f), TUTTI_COMMITTED);
    CHECK_EQ(tutti_atomically(NULL, get_all, &f), TUTTI_COMMITTED);
    CHECK_EQ(tutti_atomically(&TUTTI_OPTIONS(.read_only = true), get_all, &f), TUTTI_COMMITTED);
    CHECK_EQ(tutti_var_load_i64(&f.i), -43);
}

static void store_and_cancel(tutti_tx* tx, void* var) {
    tutti_var_store(var, 9);
    tutti_cancel(tx);
}

static void a_store_inside_is_rolled_back(void) {
    tutti_var v = TUTTI_VAR_INIT(1);
    CHECK_EQ(tutti_atomically(NULL, store_and_cancel, &v), TUTTI_CANCELLED);
    CHECK_EQ(tutti_var_load(&v), 1);
}

// ---- strong atomicity: outside stores never show between two reads of one transaction -------------------------------

static tutti_var flickering = TUTTI_VAR_INIT(0);
static tutti_var finished = TUTTI_VAR_INIT(0);

static void* flicker(void* unused) {
    (void)unused;
    for (uint64_t i = 1; i <= 20000; ++i) tutti_var_store(&flickering, i);
    tutti_var_store(&finished, 1);
    return NULL;
}

static void read_twice(tutti_tx* tx, void* different) {
    const uint64_t first = tutti_get(tx, &flickering);
    const uint64_t second = tutti_get(tx, &flickering);
    if (first != second) *(bool*)different = true;
}

static void transactions_see_outside_stores_at_one_instant(void) {
    pthread_t writer;
    CHECK_EQ(pthread_create(&writer, NULL, flicker, NULL), 0);
    bool different = false;
    while (tutti_var_load(&finished) == 0) CHECK_EQ(tutti_atomically(NULL, read_twice, &different), TUTTI_COMMITTED);
    pthread_join(writer, NULL);
    CHECK(!different);
    CHECK_EQ(tutti_var_load(&flickering), 20000);
}

int main(void) {
    RUN(initialisers_set_values);
    RUN(stores_outside_are_visible);
    RUN(every_type_is_read_and_written);
    RUN(a_store_inside_is_rolled_back);
    RUN(transactions_see_outside_stores_at_one_instant);
    return check_status();
}
