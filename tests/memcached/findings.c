/* The answer to each finding of Vyas, Liu and Spear (docs/memcached.md), in blocks like memcached's. The argument is
 * the number of the finding. findings.sh checks the report about the lines marked with "line:". */
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>

#include "apps/blocks/blocks.h"

TM_PURE static void check(bool holds, const char* what, int line) {
    if (holds) return;
    fprintf(stderr, "line %d: %s does not hold\n", line, what);
    exit(1);
}
#define CHECK(what) check((what), #what, __LINE__)

/* The exactly counted blocks are too few to let a lone thread's blocks run without barriers again. */
enum { rounds = 300, threads = 4, looks = 60 };
static long items, chunks;

/* As long as only one thread has begun blocks, they run without barriers, and none can become irrevocable. Another
 * thread therefore begins one, and stays until the end. */
static sem_t begun, ended;
static void* begin_one(void* argument) {
    (void)argument;
    __transaction_atomic { items++; }
    sem_post(&begun);
    sem_wait(&ended);
    return NULL;
}

static void run_threads(void* (*body)(void*)) {
    pthread_t crew[threads];
    for (long i = 0; i < threads; i++) CHECK(pthread_create(&crew[i], NULL, body, (void*)i) == 0);
    for (int i = 0; i < threads; i++) pthread_join(crew[i], NULL);
}

/* ---- 1: a block that takes a lock cannot be rolled back; one that takes a token can, and functions may pass it on */

static pthread_mutex_t slabs_lock = PTHREAD_MUTEX_INITIALIZER;
static tm_token slabs_token;

static void collateral(void) {
    for (int i = 0; i < rounds; i++) {
        __transaction_relaxed { /* line: takes-lock */
            items++;
            if (i % 3 == 0) {
                pthread_mutex_lock(&slabs_lock);
                chunks++;
                pthread_mutex_unlock(&slabs_lock);
            }
        }
    }
    for (int i = 0; i < rounds; i++) {
        bool taken = false;
        __transaction_atomic { /* line: takes-token */
            items++;
            taken = tm_token_try(&slabs_token);
        }
        CHECK(taken && !tm_token_try(&slabs_token));
        chunks++;
        tm_token_give(&slabs_token);
    }
}

/* ---- 2: a thread that waits for a condition sleeps until a block that signals it, deep inside, has committed */

static tm_condition filled;
static int queued;

TM_SAFE static void put(void) {
    queued++;
    tm_condition_signal(&filled);
}

static void* fill(void* argument) {
    (void)argument;
    for (int i = 0; i < rounds; i++) {
        __transaction_atomic { put(); } /* line: signals */
    }
    return NULL;
}

static void conditions(void) {
    __transaction_atomic {
        put();
        __transaction_cancel;
    }
    CHECK(filled.signals == 0);
    pthread_t filler;
    CHECK(pthread_create(&filler, NULL, fill, NULL) == 0);
    for (int taken = 0; taken < rounds;) {
        unsigned seen = 0;
        int got = 0;
        __transaction_atomic {
            seen = filled.signals;
            got = queued;
            queued = 0;
        }
        taken += got;
        if (got == 0) tm_condition_await(&filled, seen);
    }
    pthread_join(filler, NULL);
    CHECK(queued == 0);
}

/* ---- 3: a reference count that is an atomic makes its block run alone; one that the block orders does not */

static unsigned references;

static void* refer(void* argument) {
    (void)argument;
    for (int i = 0; i < rounds; i++) {
        __transaction_atomic { references++; } /* line: plain-count */
    }
    return NULL;
}

static void counts(void) {
    for (int i = 0; i < rounds; i++) {
        __transaction_relaxed { /* line: atomic-count */
            items++;
            if (i % 3 == 0) __atomic_fetch_add(&references, 1, __ATOMIC_RELAXED);
        }
    }
    CHECK(references == rounds / 3);
    references = 0;
    run_threads(refer);
    CHECK(references == threads * rounds);
}

/* ---- 4: an item that a block has unlinked belongs to the thread, which needs no barriers for it */

struct item {
    long key, value;
};
static struct item item;
static struct item* bucket = &item;
static bool over;

static void* look(void* own) {
    bool same = true;
    if (own == NULL) { /* the first thread takes the item out and changes it */
        for (int i = 0; i < looks; i++) {
            struct item* mine = NULL;
            __transaction_atomic {
                mine = bucket;
                bucket = NULL;
            }
            mine->key++;
            sched_yield();
            mine->value++;
            __transaction_atomic { bucket = mine; }
        }
        __atomic_store_n(&over, true, __ATOMIC_RELEASE);
        return NULL;
    }
    while (!__atomic_load_n(&over, __ATOMIC_ACQUIRE)) {
        __transaction_atomic {
            const struct item* found = bucket;
            same = found == NULL || found->key == found->value;
        }
        CHECK(same);
    }
    return NULL;
}

static void privatization(void) {
    run_threads(look);
    CHECK(item.key == looks && item.value == looks);
}

/* ---- 5: the report names the function that needs an annotation */

static void release_item(void) { chunks++; }
static void (*volatile release)(void) = release_item;

static void annotations(void) {
    void (*const function)(void) = release;
    for (int i = 0; i < rounds; i++) {
        __transaction_relaxed { /* line: no-clone */
            items++;
            if (i % 3 == 0) function(); /* line: call */
        }
    }
}

/* ---- 6 and 9: a function with two versions is a block outside of blocks, and part of the block inside them */

static long called_outside;
TM_SAFE void do_free_chunk(void);
void free_chunk(void);
void free_chunk_inside(void) __asm__("_ZGTt13do_free_chunk")
    __attribute__((transaction_wrap(free_chunk), transaction_pure));

TM_SAFE void do_free_chunk(void) { chunks++; }
void free_chunk(void) {
    called_outside++;
    __transaction_atomic { do_free_chunk(); } /* line: outside-version */
}
/* The same function with one version. */
TM_SAFE __attribute__((noinline)) static void link_chunk(void) {
    __transaction_atomic { chunks++; } /* line: nested */
}

static void free_and_cancel(void) {
    __transaction_atomic {
        free_chunk();
        __transaction_cancel;
    }
}

static void two_versions(void) {
    free_chunk();
    CHECK(chunks == 1 && called_outside == 1);
    free_and_cancel();
    CHECK(chunks == 1 && called_outside == 1);
    for (int i = 0; i < rounds; i++) {
        __transaction_atomic { free_chunk(); } /* line: calls-version */
    }
    CHECK(chunks == 1 + rounds && called_outside == 1);
}

static void nesting(void) {
    two_versions();
    for (int i = 0; i < rounds; i++) {
        __transaction_atomic { link_chunk(); } /* line: calls-nested */
    }
}

/* ---- 7: an action that must not happen before the commit is deferred to it, from any depth */

static sem_t posted;
TM_PURE static int value_of(sem_t* of) {
    int value = 0;
    sem_getvalue(of, &value);
    return value;
}
static void post(void* argument) {
    CHECK(!tm_in_block());
    sem_post(argument);
}
static void drop(void* argument) { (void)argument; }
TM_SAFE __attribute__((noinline)) static void finish(void) { tm_defer(post, drop, &posted); }

static void commit_one(void) {
    TM_SCOPE __transaction_atomic { /* line: posts */
        finish();
        CHECK(value_of(&posted) == 0);
    }
}
static void cancel_one(void) {
    TM_SCOPE __transaction_atomic {
        finish();
        __transaction_cancel;
    }
}
static void commit_handlers(void) {
    CHECK(sem_init(&posted, 0, 0) == 0);
    for (int i = 0; i < rounds; i++) {
        cancel_one();
        CHECK(value_of(&posted) == 0);
        commit_one();
        CHECK(sem_trywait(&posted) == 0);
    }
}

/* ---- 8: how often blocks run alone, from which line on, and for which reason */

static void serialization(void) {
    for (int i = 0; i < rounds; i++) {
        __transaction_relaxed { /* line: late */
            for (int k = 0; k < 20; k++) items++;
            if (i % 10 == 0) sched_yield(); /* line: yield */
        }
    }
    for (int i = 0; i < rounds; i++) {
        __transaction_relaxed { /* line: at-once */
            sched_yield();
            items++;
        }
    }
}

/* ---- 10: a lock that has to remain is taken before the block begins */

static void* lock_first(void* argument) {
    (void)argument;
    for (int i = 0; i < rounds; i++) {
        pthread_mutex_lock(&slabs_lock);
        __transaction_atomic { chunks++; } /* line: lock-first */
        items++;                           /* the lock guards it */
        pthread_mutex_unlock(&slabs_lock);
    }
    return NULL;
}

static void lock_order(void) {
    const long before = items;
    run_threads(lock_first);
    CHECK(chunks == threads * rounds && items == before + threads * rounds);
}

/* ---- 11: two sections that belong together are one block */

static long stored, released;
/* Lets other threads look in between, if they can. */
TM_PURE __attribute__((noinline)) static void step_aside(void) { sched_yield(); }

static void* store_and_look(void* argument) {
    (void)argument;
    for (int i = 0; i < looks; i++) {
        bool same = false;
        __transaction_atomic {
            stored++;
            step_aside();
            released++;
        }
        __transaction_atomic { same = stored == released; }
        CHECK(same);
    }
    return NULL;
}
static void granularity(void) { run_threads(store_and_look); }

/* ---- 12: a sum is updated at the commit, so blocks do not conflict over it */

static long total;
static struct {
    _Alignas(64) long count;
} own[threads];

static void add_one(void* argument) { __atomic_fetch_add((long*)argument, 1, __ATOMIC_RELAXED); }
TM_SAFE static void count(void) { _ITM_addUserCommitAction(add_one, tm_any_transaction, &total); }
static void count_and_cancel(long* mine) {
    __transaction_atomic {
        count();
        ++*mine;
        __transaction_cancel;
    }
}
static void* count_all(void* argument) {
    long* mine = &own[(long)argument].count;
    for (int i = 0; i < rounds; i++) {
        __transaction_atomic { /* line: counts */
            count();
            ++*mine;
        }
        count_and_cancel(mine);
    }
    CHECK(*mine == rounds);
    return NULL;
}
static void commuting(void) {
    run_threads(count_all);
    CHECK(total == threads * rounds);
}

/* findings.sh tests finding 13 itself. */
static void (*const answers[])(void) = {collateral,  conditions,   counts,          privatization,
                                        annotations, two_versions, commit_handlers, serialization,
                                        nesting,     lock_order,   granularity,     commuting};

int main(int argc, char** argv) {
    const int finding = argc == 2 ? atoi(argv[1]) : 0;
    if (finding < 1 || finding > (int)(sizeof answers / sizeof *answers)) return 2;
    CHECK(sem_init(&begun, 0, 0) == 0 && sem_init(&ended, 0, 0) == 0);
    __transaction_atomic { items++; }
    pthread_t other;
    CHECK(pthread_create(&other, NULL, begin_one, NULL) == 0);
    sem_wait(&begun);
    answers[finding - 1]();
    sem_post(&ended);
    pthread_join(other, NULL);
    return 0;
}
