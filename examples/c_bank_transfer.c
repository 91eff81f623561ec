// Transfers between accounts from several threads, in C: variables and cancel.
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <tutti/tutti.h>

enum { clerks = 4, transfers = 5000 };

static tutti_var checking = TUTTI_VAR_INIT(1000);
static tutti_var savings = TUTTI_VAR_INIT(1000);

struct transfer {
    tutti_var *from, *to;
    int64_t amount;
};

static void transfer(tutti_tx* tx, void* argument) {
    const struct transfer* const t = argument;
    const int64_t held = tutti_get_i64(tx, t->from);
    if (held < t->amount) tutti_cancel(tx);  // leaves the block, without any effect
    tutti_set_i64(tx, t->from, held - t->amount);
    tutti_set_i64(tx, t->to, tutti_get_i64(tx, t->to) + t->amount);
}

static void* clerk(void* seed) {
    unsigned random = (unsigned)(uintptr_t)seed;
    size_t refused = 0;
    for (int i = 0; i < transfers; ++i) {
        struct transfer t = {&checking, &savings, (int64_t)(rand_r(&random) % 500)};
        if (rand_r(&random) % 2 == 0) t.from = &savings, t.to = &checking;
        switch (tutti_atomically(&TUTTI_OPTIONS(.name = "transfer"), transfer, &t)) {
            case TUTTI_COMMITTED: break;
            case TUTTI_CANCELLED: ++refused; break;
            default: fprintf(stderr, "%s\n", tutti_last_error()); abort();
        }
    }
    return (void*)refused;
}

struct balances {
    int64_t checking, savings;
};

// Reads both in one transaction: their sum is right even during transfers.
static void audit(tutti_tx* tx, void* argument) {
    struct balances* const b = argument;
    b->checking = tutti_get_i64(tx, &checking);
    b->savings = tutti_get_i64(tx, &savings);
}

int main(void) {
    pthread_t threads[clerks];
    for (size_t i = 0; i < clerks; ++i) pthread_create(&threads[i], NULL, clerk, (void*)(i + 1));
    size_t refused = 0;
    for (size_t i = 0; i < clerks; ++i) {
        void* one = NULL;
        pthread_join(threads[i], &one);
        refused += (size_t)one;
    }
    struct balances b = {0, 0};
    if (tutti_atomically(&TUTTI_OPTIONS(.name = "audit", .read_only = true), audit, &b) != TUTTI_COMMITTED) return 1;
    printf("checking %" PRId64 ", savings %" PRId64 ", %zu transfers refused\n", b.checking, b.savings, refused);
    return b.checking + b.savings == 2000 ? 0 : 1;
}
