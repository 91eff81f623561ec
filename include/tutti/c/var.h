/// @file
/// Transactional variables in C: 16 bytes, a word and its own ownership record.
///
/// Variables are strongly atomic: a load or store outside a transaction behaves as a transaction of one access. A
/// variable must outlive every transaction that can reach it. Allocate and free objects that hold variables by
/// `tutti_malloc` and `tutti_free`, which ensure this lifetime. Never copy or move a variable.
#pragma once

#include <string.h>

#include "tutti/c/base.h"

TUTTI_C_BEGIN

/// A transactional variable. Do not access the members. The layout is that of a C++ `tutti::var` of eight bytes.
typedef struct tutti_var {
    uint64_t value_;
    uint64_t orec_;
} __attribute__((aligned(16))) tutti_var;

/// Initializes a variable, which may be static, to an integer or to a pointer, written as `(uintptr_t)p`. Use
/// `tutti_var_init_double` for a double other than 0.
#define TUTTI_VAR_INIT(initial) {(uint64_t)(initial), 0}

/// Initializes a variable in new memory that no other thread can reach yet, inside or outside a transaction.
static inline void tutti_var_init(tutti_var* var, uint64_t initial) {
    var->value_ = initial;
    var->orec_ = 0;
}

/// Returns the value of the transaction's snapshot, or the value that the transaction has written.
TUTTI_API uint64_t tutti_get(tutti_tx* tx, const tutti_var* var);
/// Writes a value, which takes effect when the transaction commits. An error of use in a read-only block.
TUTTI_API void tutti_set(tutti_tx* tx, tutti_var* var, uint64_t value);

/// Reads a variable atomically. If this thread runs a transaction, the read is part of it.
TUTTI_API uint64_t tutti_var_load(const tutti_var* var);
/// Writes a variable atomically. If this thread runs a transaction, the write is part of it. The write can fail if
/// there is no memory for the thread's first transaction, or in an at_commit handler. If no block can return the error,
/// the program aborts with a message.
TUTTI_API void tutti_var_store(tutti_var* var, uint64_t value);

// ---- The same functions for other types of eight bytes. The bits of the value stay unchanged. ----

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
