// Plain memory: typed accesses, and byte ranges of any place and length, compared with memcpy.
#include "check.h"
#include "tutti/tutti.h"

// ---- types --------------------------------------------------------------------------------------------------------

struct record {
    uint8_t u8;
    int8_t i8;
    uint16_t u16;
    int16_t i16;
    uint32_t u32;
    int32_t i32;
    float f;
    uint64_t u64;
    int64_t i64;
    double d;
    struct record* next;
};

static void store_all(tutti_tx* tx, void* argument) {
    struct record* const r = argument;
    tutti_store_u8(tx, &r->u8, 0xfe);
    tutti_store_i8(tx, &r->i8, -2);
    tutti_store_u16(tx, &r->u16, 0xfedc);
    tutti_store_i16(tx, &r->i16, -3);
    tutti_store_u32(tx, &r->u32, 0xfedcba98);
    tutti_store_i32(tx, &r->i32, -4);
    tutti_store_float(tx, &r->f, 1.5F);
    tutti_store_u64(tx, &r->u64, 0xfedcba9876543210);
    tutti_store_i64(tx, &r->i64, INT64_MIN);
    tutti_store_double(tx, &r->d, -0.25);
    tutti_store_ptr(tx, &r->next, r);
}

static void load_all(tutti_tx* tx, void* argument) {
    const struct record* const r = argument;
    CHECK_EQ(tutti_load_u8(tx, &r->u8), 0xfe);
    CHECK_EQ(tutti_load_i8(tx, &r->i8), -2);
    CHECK_EQ(tutti_load_u16(tx, &r->u16), 0xfedc);
    CHECK_EQ(tutti_load_i16(tx, &r->i16), -3);
    CHECK_EQ(tutti_load_u32(tx, &r->u32), 0xfedcba98);
    CHECK_EQ(tutti_load_i32(tx, &r->i32), -4);
    CHECK(tutti_load_float(tx, &r->f) == 1.5F);
    CHECK(tutti_load_u64(tx, &r->u64) == 0xfedcba9876543210);
    CHECK(tutti_load_i64(tx, &r->i64) == INT64_MIN);
    CHECK(tutti_load_double(tx, &r->d) == -0.25);
    CHECK(tutti_load_ptr(tx, &r->next) == r);
}

static void store_and_load_all(tutti_tx* tx, void* argument) {
    store_all(tx, argument);
    load_all(tx, argument);
}

static void every_type_is_stored_and_loaded(void) {
    struct record r;
    memset(&r, 0, sizeof r);
    CHECK_EQ(tutti_atomically(NULL, store_and_load_all, &r), TUTTI_COMMITTED);
    CHECK_EQ(tutti_atomically(NULL, load_all, &r), TUTTI_COMMITTED);
    CHECK_EQ(tutti_atomically(&TUTTI_OPTIONS(.read_only = true), load_all, &r), TUTTI_COMMITTED);
    // Private again, so direct accesses are allowed.
    CHECK_EQ(r.u8, 0xfe);
    CHECK_EQ(r.i32, -4);
    CHECK(r.d == -0.25 && r.f == 1.5F && r.next == &r);
}

static void store_all_and_cancel(tutti_tx* tx, void* argument) {
    store_all(tx, argument);
    tutti_cancel(tx);
}

static void every_store_is_rolled_back(void) {
    struct record r;
    memset(&r, 0x5a, sizeof r);
    CHECK_EQ(tutti_atomically(NULL, store_all_and_cancel, &r), TUTTI_CANCELLED);
    for (size_t i = 0; i < sizeof r; ++i) CHECK_EQ(((const unsigned char*)&r)[i], 0x5a);
}

// ---- ranges -------------------------------------------------------------------------------------------------------

enum { arena_size = 256, steps_per_block = 24 };

/// A sequence of range operations in one block, on shared memory and on a model that memcpy and memset maintain.
struct program {
    uint64_t seed;
    bool nested;  // every fourth step is in a nested block, and half of these cancel
    bool cancel;
    unsigned char* shared;
    unsigned char model[arena_size];
};

struct step {
    struct program* program;
    uint64_t seed;
    bool cancel;
};

static void one_step(tutti_tx* tx, struct program* p, uint64_t* random) {
    const size_t at = check_random(random) % arena_size;
    const size_t most = check_random(random) % 4 == 0 ? arena_size : 20;
    size_t bytes = check_random(random) % (most + 1);
    if (bytes > arena_size - at) bytes = arena_size - at;

    // The private side has an alignment of its own.
    unsigned char buffer[arena_size + 8];
    unsigned char* const own = buffer + check_random(random) % 8;
    switch (check_random(random) % 3) {
        case 0:
            tutti_read(tx, own, p->shared + at, bytes);
            CHECK_EQ(memcmp(own, p->model + at, bytes), 0);
            break;
        case 1:
            for (size_t i = 0; i < bytes; ++i) own[i] = (unsigned char)check_random(random);
            tutti_write(tx, p->shared + at, own, bytes);
            memcpy(p->model + at, own, bytes);
            break;
        default: {
            const unsigned char value = (unsigned char)check_random(random);
            tutti_fill(tx, p->shared + at, value, bytes);
            memset(p->model + at, value, bytes);
        }
    }
    // A word that overlaps ranges.
    const size_t word = (check_random(random) % (arena_size / 8)) * 8;
    uint64_t expected;
    memcpy(&expected, p->model + word, sizeof expected);
    CHECK(tutti_load_u64(tx, (const uint64_t*)(uintptr_t)(p->shared + word)) == expected);
    const size_t byte = check_random(random) % arena_size;
    CHECK_EQ(tutti_load_u8(tx, p->shared + byte), p->model[byte]);
}

static void nested_step(tutti_tx* tx, void* argument) {
    const struct step* const s = argument;
    uint64_t random = s->seed;
    for (int i = 0; i < 3; ++i) one_step(tx, s->program, &random);
    if (s->cancel) tutti_cancel(tx);
}

static void run_program(tutti_tx* tx, void* argument) {
    struct program* const p = argument;
    uint64_t random = p->seed;
    unsigned char at_start[arena_size];
    memcpy(at_start, p->model, arena_size);
    for (int i = 0; i < steps_per_block; ++i) {
        if (p->nested && i % 4 == 3) {
            unsigned char before[arena_size];
            memcpy(before, p->model, arena_size);
            struct step s = {p, check_random(&random), i % 8 == 3};
            const int result = tutti_atomically(NULL, nested_step, &s);
            CHECK_EQ(result, s.cancel ? TUTTI_CANCELLED : TUTTI_COMMITTED);
            if (s.cancel) memcpy(p->model, before, arena_size);
        } else {
            one_step(tx, p, &random);
        }
    }
    if (p->cancel) {
        memcpy(p->model, at_start, arena_size);
        tutti_cancel(tx);
    }
}

static void ranges_behave_like_memcpy(void) {
    const char* const given = getenv("TUTTI_SEED");
    const uint64_t first = given != NULL ? strtoull(given, NULL, 0) : 1;
    const uint64_t count = given != NULL ? 1 : 300;
    // Exactly as large as the ranges, so that a sanitizer finds an access beside them.
    unsigned char* const shared = aligned_alloc(64, arena_size);
    for (uint64_t seed = first; seed < first + count && check_failures == 0; ++seed) {
        struct program p = {.seed = seed, .nested = seed % 2 == 0, .cancel = seed % 5 == 0, .shared = shared};
        uint64_t random = ~seed;
        for (size_t i = 0; i < arena_size; ++i) shared[i] = p.model[i] = (unsigned char)check_random(&random);
        CHECK_EQ(tutti_atomically(NULL, run_program, &p), p.cancel ? TUTTI_CANCELLED : TUTTI_COMMITTED);
        CHECK_EQ(memcmp(shared, p.model, arena_size), 0);
        if (check_failures != 0) fprintf(stderr, "replay with TUTTI_SEED=%" PRIu64 "\n", seed);
    }
    free(shared);
}

struct range {
    unsigned char* from;
    size_t bytes;
};

static void fill_range(tutti_tx* tx, void* argument) {
    const struct range* const r = argument;
    tutti_fill(tx, r->from, 0xc3, r->bytes);
}

// Every start and length up to 40: the pieces cover the range and nothing beside it.
static void a_range_is_written_exactly(void) {
    unsigned char memory[64];
    for (size_t start = 0; start < 16; ++start) {
        for (size_t bytes = 0; bytes <= 40; ++bytes) {
            memset(memory, 0x11, sizeof memory);
            struct range r = {memory + start, bytes};
            CHECK_EQ(tutti_atomically(NULL, fill_range, &r), TUTTI_COMMITTED);
            for (size_t i = 0; i < sizeof memory; ++i) {
                CHECK_EQ(memory[i], i >= start && i < start + bytes ? 0xc3 : 0x11);
            }
        }
    }
}

int main(void) {
    RUN(every_type_is_stored_and_loaded);
    RUN(every_store_is_rolled_back);
    RUN(ranges_behave_like_memcpy);
    RUN(a_range_is_written_exactly);
    return check_status();
}
