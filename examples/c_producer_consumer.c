// A bounded queue between threads, in C: `tutti_retry` sleeps until there is something to do, and `tutti_or_else` waits
// for either of two queues.
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <tutti/tutti.h>

enum { slots = 8, messages = 2000 };

struct queue {
    tutti_var written, read;
    tutti_var slot[slots];
};

static struct queue urgent, ordinary;  // all zero: a variable needs no other initialisation

struct message {
    struct queue* queue;
    uint64_t value;
};

static void put(tutti_tx* tx, void* argument) {
    const struct message* const m = argument;
    const uint64_t n = tutti_get(tx, &m->queue->written);
    if (n - tutti_get(tx, &m->queue->read) == slots) tutti_retry(tx);  // full
    tutti_set(tx, &m->queue->slot[n % slots], m->value);
    tutti_set(tx, &m->queue->written, n + 1);
}

static void take(tutti_tx* tx, void* argument) {
    struct message* const m = argument;
    const uint64_t n = tutti_get(tx, &m->queue->read);
    if (n == tutti_get(tx, &m->queue->written)) tutti_retry(tx);  // empty
    m->value = tutti_get(tx, &m->queue->slot[n % slots]);
    tutti_set(tx, &m->queue->read, n + 1);
}

// Takes from the urgent queue if it is not empty, otherwise from the ordinary one. Waits while both are empty.
static void take_any(tutti_tx* tx, void* argument) {
    struct message* const m = argument;
    struct message first = {&urgent, 0}, second = {&ordinary, 0};
    const tutti_alternative ways[] = {{take, &first}, {take, &second}};
    if (tutti_or_else(tx, ways, 2) != TUTTI_COMMITTED) tutti_cancel(tx);
    m->value = first.value + second.value;  // one of them is still 0
}

static void* producer(void* queue) {
    for (uint64_t i = 1; i <= messages; ++i) {
        struct message m = {queue, i};
        if (tutti_atomically(NULL, put, &m) != TUTTI_COMMITTED) abort();
    }
    return NULL;
}

int main(void) {
    pthread_t producers[2];
    pthread_create(&producers[0], NULL, producer, &urgent);
    pthread_create(&producers[1], NULL, producer, &ordinary);

    uint64_t sum = 0;
    for (int i = 0; i < 2 * messages; ++i) {
        struct message m = {NULL, 0};
        if (tutti_atomically(NULL, take_any, &m) != TUTTI_COMMITTED) {
            fprintf(stderr, "%s\n", tutti_last_error());
            return 1;
        }
        sum += m.value;
    }
    for (int i = 0; i < 2; ++i) pthread_join(producers[i], NULL);
    printf("received %d messages, sum %" PRIu64 "\n", 2 * messages, sum);
    return sum == (uint64_t)messages * (messages + 1) ? 0 : 1;
}
