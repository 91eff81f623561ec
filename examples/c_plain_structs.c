// A linked list of ordinary structures, as in an existing C program, made safe for threads. The fields stay as they
// are. Blocks access them by loads and stores, and allocate nodes by tutti_malloc and tutti_free.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tutti/tutti.h>

enum { workers = 3, rounds = 2000, keys = 32 };

struct entry {
    uint32_t key;
    uint32_t hits;
    char label[13];
    struct entry* next;
};

static struct entry* list;  // sorted by key
static uint32_t length;

// Returns the link that leads to `key`, or to its place.
static struct entry** find(tutti_tx* tx, uint32_t key) {
    struct entry** link = &list;
    struct entry* here;
    while ((here = tutti_load_ptr(tx, link)) != NULL && tutti_load_u32(tx, &here->key) < key) link = &here->next;
    return link;
}

static void hit(tutti_tx* tx, void* argument) {
    const uint32_t key = *(const uint32_t*)argument;
    struct entry** const link = find(tx, key);
    struct entry* const next = tutti_load_ptr(tx, link);
    if (next != NULL && tutti_load_u32(tx, &next->key) == key) {
        tutti_store_u32(tx, &next->hits, tutti_load_u32(tx, &next->hits) + 1);
        return;
    }
    struct entry* const fresh = tutti_malloc(tx, sizeof *fresh);
    if (fresh == NULL) tutti_cancel(tx);
    // No other thread can reach the node yet, so it is filled directly.
    *fresh = (struct entry){.key = key, .hits = 1, .next = next};
    snprintf(fresh->label, sizeof fresh->label, "key %u", (unsigned)key);
    tutti_store_ptr(tx, link, fresh);
    tutti_store_u32(tx, &length, tutti_load_u32(tx, &length) + 1);
}

static void drop(tutti_tx* tx, void* argument) {
    const uint32_t key = *(const uint32_t*)argument;
    struct entry** const link = find(tx, key);
    struct entry* const here = tutti_load_ptr(tx, link);
    if (here == NULL || tutti_load_u32(tx, &here->key) != key) return;
    char label[sizeof here->label], expected[sizeof here->label];
    tutti_read(tx, label, here->label, sizeof label);
    snprintf(expected, sizeof expected, "key %u", (unsigned)key);
    if (strcmp(label, expected) != 0) abort();
    tutti_store_ptr(tx, link, tutti_load_ptr(tx, &here->next));
    tutti_store_u32(tx, &length, tutti_load_u32(tx, &length) - 1);
    tutti_free(tx, here);
}

static void detach(tutti_tx* tx, void* argument) {
    *(struct entry**)argument = tutti_load_ptr(tx, &list);
    tutti_store_ptr(tx, &list, NULL);
}

static void* work(void* seed) {
    unsigned random = (unsigned)(uintptr_t)seed;
    for (int i = 0; i < rounds; ++i) {
        uint32_t key = (uint32_t)rand_r(&random) % keys;
        if (tutti_atomically(NULL, rand_r(&random) % 4 == 0 ? drop : hit, &key) != TUTTI_COMMITTED) abort();
    }
    return NULL;
}

int main(void) {
    pthread_t threads[workers];
    for (size_t i = 0; i < workers; ++i) pthread_create(&threads[i], NULL, work, (void*)(i + 1));
    for (size_t i = 0; i < workers; ++i) pthread_join(threads[i], NULL);

    // The block makes the list private: after the block, the list is ordinary memory again.
    struct entry* mine = NULL;
    if (tutti_atomically(NULL, detach, (void*)&mine) != TUTTI_COMMITTED) return 1;
    uint32_t count = 0;
    while (mine != NULL) {
        struct entry* const next = mine->next;
        if (next != NULL && next->key <= mine->key) return 1;
        ++count;
        free(mine);
        mine = next;
    }
    printf("%u entries\n", (unsigned)count);
    return count == length ? 0 : 1;
}
