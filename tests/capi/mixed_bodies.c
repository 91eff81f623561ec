#include "mixed_bodies.h"

void c_add(tutti_tx* tx, tutti_var* to, uint64_t amount) { tutti_set(tx, to, tutti_get(tx, to) + amount); }

void c_add_and_restart(tutti_tx* tx, tutti_var* to, unsigned* restarts) {
    c_add(tx, to, 1);
    if (*restarts == 0) return;
    --*restarts;
    tutti_restart(tx);
}

static void add_and_cancel(tutti_tx* tx, void* to) {
    c_add(tx, to, 1);
    tutti_cancel(tx);
}

int c_add_and_cancel(tutti_var* to) { return tutti_atomically(NULL, add_and_cancel, to); }

struct awaited {
    tutti_var* until;
    bool* found_shut;
};

static void wait_for(tutti_tx* tx, void* argument) {
    const struct awaited* const gate = argument;
    if (tutti_get(tx, gate->until) != 0) return;
    __atomic_store_n(gate->found_shut, true, __ATOMIC_RELEASE);
    tutti_retry(tx);
}

int c_wait_nested(tutti_var* until, bool* found_shut) {
    struct awaited gate = {until, found_shut};
    return tutti_atomically(NULL, wait_for, &gate);
}

void c_misuse(tutti_tx* tx) {
    static const uint64_t word = 0;
    (void)tutti_load_u32(tx, (const uint32_t*)((uintptr_t)&word + 1));
}

static void misuse(tutti_tx* tx, void* unused) {
    (void)unused;
    c_misuse(tx);
}

int c_misuse_nested(void) { return tutti_atomically(NULL, misuse, NULL); }

int c_run(tutti_body* body, void* argument) { return tutti_atomically(NULL, body, argument); }
