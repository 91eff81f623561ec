// A checkpoint in C: a basket is filled item by item, and each item has a checkpoint of its own. The continuation
// changes ordinary memory, which is restored before a new run, because it is passed as the continuation's locals.
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <tutti/tutti.h>

enum { customers = 4, visits = 2000, shelves = 6, wanted = 4 };

static tutti_var stock[shelves];
static tutti_var sold;

struct basket {
    unsigned random;  // seed for the next shelf
    int items;
    uint64_t taken[shelves];
};

// Takes one item and continues with the next one from its own checkpoint.
static void take(tutti_tx* tx, void* argument) {
    struct basket* const b = argument;
    const size_t shelf = (size_t)rand_r(&b->random) % shelves;
    tutti_set(tx, &stock[shelf], tutti_get(tx, &stock[shelf]) - 1);
    ++b->taken[shelf];
    if (++b->items < wanted) {
        if (tutti_checkpoint(tx, take, b, b, sizeof *b) != TUTTI_COMMITTED) tutti_cancel(tx);
    } else {
        tutti_set(tx, &sold, tutti_get(tx, &sold) + wanted);
    }
}

struct customer {
    unsigned random;
    struct basket basket;
    uint64_t taken[shelves];
};

static void visit(tutti_tx* tx, void* argument) {
    struct customer* const c = argument;
    // A restart of the whole block begins here, so the basket is emptied here.
    c->basket = (struct basket){.random = c->random};
    if (tutti_checkpoint(tx, take, &c->basket, &c->basket, sizeof c->basket) != TUTTI_COMMITTED) tutti_cancel(tx);
}

static void* shop(void* argument) {
    struct customer* const c = argument;
    for (int i = 0; i < visits; ++i) {
        if (tutti_atomically(&TUTTI_OPTIONS(.name = "visit"), visit, c) != TUTTI_COMMITTED) {
            fprintf(stderr, "%s\n", tutti_last_error());
            abort();
        }
        for (size_t shelf = 0; shelf < shelves; ++shelf) c->taken[shelf] += c->basket.taken[shelf];
        c->random = c->basket.random;
    }
    return NULL;
}

int main(void) {
    static const uint64_t full = (uint64_t)customers * visits * wanted;
    for (size_t shelf = 0; shelf < shelves; ++shelf) tutti_var_store(&stock[shelf], full);

    pthread_t threads[customers];
    static struct customer all[customers];
    for (unsigned i = 0; i < customers; ++i) {
        all[i].random = i + 1;
        pthread_create(&threads[i], NULL, shop, &all[i]);
    }
    for (size_t i = 0; i < customers; ++i) pthread_join(threads[i], NULL);

    bool right = tutti_var_load(&sold) == full;
    for (size_t shelf = 0; shelf < shelves; ++shelf) {
        uint64_t left = tutti_var_load(&stock[shelf]);
        printf("shelf %zu: %" PRIu64 " taken\n", shelf, full - left);
        for (size_t i = 0; i < customers; ++i) left += all[i].taken[shelf];
        right = right && left == full;
    }
    return right ? 0 : 1;
}
