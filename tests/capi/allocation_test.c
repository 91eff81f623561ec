// The heap in transactions. AddressSanitizer finds leaks and accesses to freed memory.
#include <errno.h>
#include <pthread.h>

#include "check.h"
#include "tutti/tutti.h"

// The sanitizers' allocators end the program if a request cannot be met. This option makes them return null, as the C
// library does.
const char* __asan_default_options(void);
const char* __tsan_default_options(void);
const char* __asan_default_options(void) { return "allocator_may_return_null=1"; }
const char* __tsan_default_options(void) { return "allocator_may_return_null=1"; }

struct node {
    tutti_var value;
    tutti_var next;
};

static tutti_var head = TUTTI_VAR_INIT(0);

static void push(tutti_tx* tx, void* value) {
    struct node* const n = tutti_malloc(tx, sizeof *n);
    tutti_var_init(&n->value, *(uint64_t*)value);
    tutti_var_init_ptr(&n->next, tutti_get_ptr(tx, &head));
    tutti_set_ptr(tx, &head, n);
}

static void pop(tutti_tx* tx, void* value) {
    struct node* const n = tutti_get_ptr(tx, &head);
    if (n == NULL) tutti_cancel(tx);
    *(uint64_t*)value = tutti_get(tx, &n->value);
    tutti_set_ptr(tx, &head, tutti_get_ptr(tx, &n->next));
    tutti_free(tx, n);
}

static void allocates_and_frees_list_nodes(void) {
    for (uint64_t i = 0; i < 1000; ++i) CHECK_EQ(tutti_atomically(NULL, push, &i), TUTTI_COMMITTED);
    for (uint64_t i = 1000; i-- > 0;) {
        uint64_t value = 0;
        CHECK_EQ(tutti_atomically(NULL, pop, &value), TUTTI_COMMITTED);
        CHECK_EQ(value, i);
    }
    uint64_t value = 0;
    CHECK_EQ(tutti_atomically(NULL, pop, &value), TUTTI_CANCELLED);
}

static void push_and_cancel(tutti_tx* tx, void* value) {
    push(tx, value);
    void* const more = tutti_calloc(tx, 10, 100);
    memset(more, 1, 1000);
    tutti_free(tx, more);
    tutti_cancel(tx);
}

static void frees_allocations_of_a_rolled_back_block(void) {
    uint64_t value = 1;
    CHECK_EQ(tutti_atomically(NULL, push_and_cancel, &value), TUTTI_CANCELLED);
    CHECK(tutti_var_load_ptr(&head) == NULL);
}

static void push_in_a_cancelled_child(tutti_tx* tx, void* value) {
    push(tx, value);
    CHECK_EQ(tutti_atomically(NULL, push_and_cancel, value), TUTTI_CANCELLED);
    push(tx, value);
}

static void frees_only_allocations_of_a_cancelled_child(void) {
    uint64_t value = 1;
    CHECK_EQ(tutti_atomically(NULL, push_in_a_cancelled_child, &value), TUTTI_COMMITTED);
    CHECK_EQ(tutti_atomically(NULL, pop, &value), TUTTI_COMMITTED);
    CHECK_EQ(tutti_atomically(NULL, pop, &value), TUTTI_COMMITTED);
    CHECK(tutti_var_load_ptr(&head) == NULL);
}

struct handed_over {
    void* memory;
};

static void make(tutti_tx* tx, void* argument) {
    struct handed_over* const h = argument;
    h->memory = tutti_calloc(tx, 7, 9);
    const unsigned char* const bytes = h->memory;
    for (size_t i = 0; i < 63; ++i) CHECK_EQ(bytes[i], 0);
}

static void make_aligned(tutti_tx* tx, void* argument) {
    struct handed_over* const h = argument;
    h->memory = tutti_aligned_alloc(tx, 256, 512);
}

static void discard(tutti_tx* tx, void* argument) {
    struct handed_over* const h = argument;
    tutti_free(tx, h->memory);
    tutti_free(tx, NULL);
}

static void uses_the_heap_of_the_c_library(void) {
    struct handed_over h = {NULL};
    CHECK_EQ(tutti_atomically(NULL, make, &h), TUTTI_COMMITTED);
    free(h.memory);
    CHECK_EQ(tutti_atomically(NULL, make_aligned, &h), TUTTI_COMMITTED);
    CHECK_EQ((uintptr_t)h.memory % 256, 0);
    free(h.memory);
    h.memory = malloc(100);
    CHECK_EQ(tutti_atomically(NULL, discard, &h), TUTTI_COMMITTED);
}

static void discard_and_cancel(tutti_tx* tx, void* argument) {
    discard(tx, argument);
    tutti_cancel(tx);
}

static void keeps_memory_of_a_rolled_back_free(void) {
    struct handed_over h = {malloc(100)};
    memset(h.memory, 3, 100);
    CHECK_EQ(tutti_atomically(NULL, discard_and_cancel, &h), TUTTI_CANCELLED);
    CHECK_EQ(((unsigned char*)h.memory)[99], 3);
    free(h.memory);
}

static void ask_for_too_much(tutti_tx* tx, void* argument) {
    // Read through a volatile, so that the compiler does not warn of a size that no object can have.
    const volatile size_t* const bytes = argument;
    errno = 0;
    CHECK(tutti_calloc(tx, *bytes, 4) == NULL);
    CHECK_EQ(errno, ENOMEM);
}

static void returns_null_without_memory(void) {
    size_t bytes = SIZE_MAX / 2;
    CHECK_EQ(tutti_atomically(NULL, ask_for_too_much, &bytes), TUTTI_COMMITTED);
}

// ---- nodes are created and destroyed while other threads use them
// ----------------------------------------------------

enum { rounds = 4000 };

static void sum_list(tutti_tx* tx, void* sum) {
    uint64_t total = 0;
    for (struct node* n = tutti_get_ptr(tx, &head); n != NULL; n = tutti_get_ptr(tx, &n->next)) {
        total += tutti_get(tx, &n->value);
    }
    *(uint64_t*)sum = total;
}

static void replace_top(tutti_tx* tx, void* unused) {
    (void)unused;
    uint64_t value = 0;
    pop(tx, &value);
    push(tx, &value);
}

static void* churn(void* unused) {
    (void)unused;
    for (int i = 0; i < rounds; ++i) {
        if (tutti_atomically(NULL, replace_top, NULL) != TUTTI_COMMITTED) abort();
    }
    return NULL;
}

static void readers_never_see_freed_memory(void) {
    uint64_t one = 1;
    for (int i = 0; i < 8; ++i) CHECK_EQ(tutti_atomically(NULL, push, &one), TUTTI_COMMITTED);
    pthread_t threads[2];
    for (int i = 0; i < 2; ++i) CHECK_EQ(pthread_create(&threads[i], NULL, churn, NULL), 0);
    for (int i = 0; i < rounds; ++i) {
        uint64_t sum = 0;
        CHECK_EQ(tutti_atomically(NULL, sum_list, &sum), TUTTI_COMMITTED);
        CHECK_EQ(sum, 8);
    }
    for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
    for (int i = 0; i < 8; ++i) CHECK_EQ(tutti_atomically(NULL, pop, &one), TUTTI_COMMITTED);
}

int main(void) {
    RUN(allocates_and_frees_list_nodes);
    RUN(frees_allocations_of_a_rolled_back_block);
    RUN(frees_only_allocations_of_a_cancelled_child);
    RUN(uses_the_heap_of_the_c_library);
    RUN(keeps_memory_of_a_rolled_back_free);
    RUN(returns_null_without_memory);
    RUN(readers_never_see_freed_memory);
    return check_status();
}
