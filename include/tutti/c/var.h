/// @file
/// Transactional variables in C: 16 bytes, a word and its own ownership record.
///
/// They are strongly atomic: a load or store outside a transaction behaves as a transaction of one access. A variable
/// must outlive every transaction that can reach it; make and free objects that hold variables with `tutti_malloc` and
/// `tutti_free`, which see to that. Never copy a variable and never move one.
#pragma once

#include <string.h>

#include "tutti/c/base.h"

TUTTI_C_BEGIN

/// Do not touch the members. The layout is that of a C++ `tutti::var` of eight bytes.
typedef struct tutti_var {
    uint64_t value_;
    uint64_t orec_;
} __attribute__((aligned(16))) tutti_var;

/// Initialises a variable, also a static one, to an integer or, written `(uintptr_t)p`, a pointer. For a double other
/// than 0 use `tutti_var_init_double`.
#define TUTTI_VAR_INIT(initial) {(uint64_t)(initial), 0}

/// Initialises a variable in fresh memory that no other thread can reach yet, inside a transaction or outside.
static inline void tutti_var_init(tutti_var* var, uint64_t initial) {
    var->value_ = initial;
    var->orec_ = 0;
}

/// The value as of the transaction's snapshot, or what the transaction itself wrote.
TUTTI_API uint64_t tutti_get(tutti_tx* tx, const tutti_var* var);
/// Takes effect when the transaction commits. An error of use in a read-only block.
TUTTI_API void tutti_set(tutti_tx* tx, tutti_var* var, uint64_t value);

/// One atomic read. Inside a transaction of this thread it is part of it.
TUTTI_API uint64_t tutti_var_load(const tutti_var* var);
/// One atomic write. Inside a transaction of this thread it is part of it. Where it cannot be done (no memory for the
/// thread's first transaction, called from an at_commit handler) and there is no block to report to, the program is
/// aborted with a message.
TUTTI_API void tutti_var_store(tutti_var* var, uint64_t value);

// ---- The same for other types of eight bytes: the bits go through unchanged. --------------------------------------

static inline uint64_t tutti_word_of_double(double value) {
    uint64_t word;
    memcpy(&word, &value, sizeof word);
    return word;
}
static inline double tutti_double_of_word(uint64_t word) {
    double value;
    memcpy(&value, &word, sizeof value);
    return value;
}

static inline int64_t tutti_get_i64(tutti_tx* tx, const tutti_var* var) {
    return TUTTI_CONVERTED(int64_t, tutti_get(tx, var));
}
static inline void tutti_set_i64(tutti_tx* tx, tutti_var* var, int64_t value) {
    tutti_set(tx, var, TUTTI_CONVERTED(uint64_t, value));
}
static inline int64_t tutti_var_load_i64(const tutti_var* var) { return TUTTI_CONVERTED(int64_t, tutti_var_load(var)); }
static inline void tutti_var_store_i64(tutti_var* var, int64_t value) {
    tutti_var_store(var, TUTTI_CONVERTED(uint64_t, value));
}

static inline void tutti_var_init_ptr(tutti_var* var, const void* initial) {
    tutti_var_init(var, TUTTI_SAME_BITS(uint64_t, initial));
}
static inline void* tutti_get_ptr(tutti_tx* tx, const tutti_var* var) {
    return TUTTI_SAME_BITS(void*, tutti_get(tx, var));
}
static inline void tutti_set_ptr(tutti_tx* tx, tutti_var* var, const void* value) {
    tutti_set(tx, var, TUTTI_SAME_BITS(uint64_t, value));
}
static inline void* tutti_var_load_ptr(const tutti_var* var) { return TUTTI_SAME_BITS(void*, tutti_var_load(var)); }
static inline void tutti_var_store_ptr(tutti_var* var, const void* value) {
    tutti_var_store(var, TUTTI_SAME_BITS(uint64_t, value));
}

static inline void tutti_var_init_double(tutti_var* var, double initial) {
    tutti_var_init(var, tutti_word_of_double(initial));
}
static inline double tutti_get_double(tutti_tx* tx, const tutti_var* var) {
    return tutti_double_of_word(tutti_get(tx, var));
}
static inline void tutti_set_double(tutti_tx* tx, tutti_var* var, double value) {
    tutti_set(tx, var, tutti_word_of_double(value));
}
static inline double tutti_var_load_double(const tutti_var* var) { return tutti_double_of_word(tutti_var_load(var)); }
static inline void tutti_var_store_double(tutti_var* var, double value) {
    tutti_var_store(var, tutti_word_of_double(value));
}

TUTTI_C_END
