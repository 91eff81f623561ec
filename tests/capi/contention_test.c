// Several threads at once, so that restarts happen at every possible place: in barriers, ranges, children,
// alternatives.
#include <pthread.h>

#include "check.h"
#include "tutti/tutti.h"

enum { threads = 4, accounts = 8, rounds = 4000 };
static const uint64_t initial = 1000;

/// One half of a balance is a variable, the other half plain bytes at an odd address.
struct account {
    tutti_var cents;
    unsigned char pad;
    unsigned char packed[8];
};

static struct account bank[accounts];

static uint64_t packed_get(tutti_tx* tx, const struct account* a) {
    uint64_t value;
    tutti_read(tx, &value, a->packed, sizeof value);
    return value;
}
static void packed_set(tutti_tx* tx, struct account* a, uint64_t value) {
    tutti_write(tx, a->packed, &value, sizeof value);
}

struct transfer {
    struct account *from, *to;
    uint64_t cents;
};

static void withdraw(tutti_tx* tx, void* argument) {
    const struct transfer* const t = argument;
    const uint64_t held = tutti_get(tx, &t->from->cents);
    tutti_set(tx, &t->from->cents, held - t->cents);
    packed_set(tx, t->from, packed_get(tx, t->from) - t->cents);
    if (held < t->cents) tutti_cancel(tx);
}

static void transfer(tutti_tx* tx, void* argument) {
    const struct transfer* const t = argument;
    if (tutti_atomically(NULL, withdraw, argument) == TUTTI_CANCELLED) return;
    tutti_set(tx, &t->to->cents, tutti_get(tx, &t->to->cents) + t->cents);
    packed_set(tx, t->to, packed_get(tx, t->to) + t->cents);
}

static void sum(tutti_tx* tx, void* total) {
    uint64_t in_vars = 0, in_bytes = 0;
    for (int i = 0; i < accounts; ++i) {
        in_vars += tutti_get(tx, &bank[i].cents);
        in_bytes += packed_get(tx, &bank[i]);
    }
    // Even failed attempts must see a consistent state.
    if (in_vars != accounts * initial || in_bytes != accounts * initial) {
        fprintf(stderr, "inconsistent: %" PRIu64 ", %" PRIu64 "\n", in_vars, in_bytes);
        abort();
    }
    *(uint64_t*)total = in_vars + in_bytes;
}

static void* work(void* seed) {
    uint64_t random = (uint64_t)(uintptr_t)seed;
    for (int i = 0; i < rounds; ++i) {
        if (check_random(&random) % 4 == 0) {
            uint64_t total = 0;
            const tutti_options how = {.struct_size = sizeof how, .read_only = check_random(&random) % 2 == 0};
            if (tutti_atomically(&how, sum, &total) != TUTTI_COMMITTED || total != 2 * initial * accounts) abort();
        } else {
            struct transfer t = {&bank[check_random(&random) % accounts], &bank[check_random(&random) % accounts],
                                 check_random(&random) % 400};
            tutti_options how = TUTTI_OPTIONS_INIT;
            how.mode = check_random(&random) % 16 == 0 ? (int)(check_random(&random) % 3) : TUTTI_OPTIMISTIC;
            if (tutti_atomically(&how, transfer, &t) != TUTTI_COMMITTED) abort();
        }
    }
    return NULL;
}

static void transfers_keep_the_sum(void) {
    for (int i = 0; i < accounts; ++i) {
        tutti_var_init(&bank[i].cents, initial);
        memcpy(bank[i].packed, &initial, sizeof initial);
    }
    pthread_t ids[threads];
    for (int i = 0; i < threads; ++i) CHECK_EQ(pthread_create(&ids[i], NULL, work, (void*)(uintptr_t)(i + 1)), 0);
    for (int i = 0; i < threads; ++i) pthread_join(ids[i], NULL);
    uint64_t total = 0;
    CHECK_EQ(tutti_atomically(NULL, sum, &total), TUTTI_COMMITTED);
    CHECK_EQ(total, 2 * initial * accounts);
}

// ---- a bounded buffer: every value arrives once ---------------------------------------------------------------------

enum { slots = 4, values = 6000 };

static tutti_var queue[slots];
static tutti_var put_count, got_count;

static void put(tutti_tx* tx, void* value) {
    const uint64_t n = tutti_get(tx, &put_count);
    if (n - tutti_get(tx, &got_count) == slots) tutti_retry(tx);
    tutti_set(tx, &queue[n % slots], *(uint64_t*)value);
    tutti_set(tx, &put_count, n + 1);
}

static void get(tutti_tx* tx, void* value) {
    const uint64_t n = tutti_get(tx, &got_count);
    if (n == tutti_get(tx, &put_count)) tutti_retry(tx);
    *(uint64_t*)value = tutti_get(tx, &queue[n % slots]);
    tutti_set(tx, &got_count, n + 1);
}

static void* produce(void* first) {
    for (uint64_t i = 0; i < values / 2; ++i) {
        uint64_t value = (uint64_t)(uintptr_t)first + i;
        if (tutti_atomically(NULL, put, &value) != TUTTI_COMMITTED) abort();
    }
    return NULL;
}

static void* consume(void* total) {
    for (uint64_t i = 0; i < values / 2; ++i) {
        uint64_t value = 0;
        if (tutti_atomically(NULL, get, &value) != TUTTI_COMMITTED) abort();
        *(uint64_t*)total += value;
    }
    return NULL;
}

static void every_value_arrives_once(void) {
    pthread_t ids[4];
    uint64_t totals[2] = {0, 0};
    for (unsigned i = 0; i < 2; ++i) {
        CHECK_EQ(pthread_create(&ids[i], NULL, produce, (void*)(uintptr_t)(1 + i * (values / 2))), 0);
        CHECK_EQ(pthread_create(&ids[i + 2], NULL, consume, &totals[i]), 0);
    }
    for (int i = 0; i < 4; ++i) pthread_join(ids[i], NULL);
    CHECK_EQ(totals[0] + totals[1], (uint64_t)values * (values + 1) / 2);
}

int main(void) {
    RUN(transfers_keep_the_sum);
    RUN(every_value_arrives_once);
    return check_status();
}
