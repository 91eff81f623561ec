/// @file
/// Plain memory in transactions: fields of ordinary structures, and ranges of bytes.
///
/// While transactions can reach a piece of memory, access it only through these calls. If a transaction makes memory
/// private, you may access that memory directly once its block has returned, unless the block waived privatization. You
/// may also write memory directly before you publish it, while no other thread can reach it.
///
/// The typed calls take addresses that are aligned to the type's size. Any other address is an error of use.
#pragma once

#include "tutti/c/base.h"

TUTTI_C_BEGIN

/// These functions return the value of the transaction's snapshot, or the value that the transaction has written. Cost:
/// one call. The default algorithm also checks the record before and after the load, and writes an entry to the read
/// log unless the block is read-only.
TUTTI_API uint8_t tutti_load_u8(tutti_tx* tx, const uint8_t* from);
TUTTI_API uint16_t tutti_load_u16(tutti_tx* tx, const uint16_t* from);
TUTTI_API uint32_t tutti_load_u32(tutti_tx* tx, const uint32_t* from);
TUTTI_API uint64_t tutti_load_u64(tutti_tx* tx, const uint64_t* from);
TUTTI_API float tutti_load_float(tutti_tx* tx, const float* from);
TUTTI_API double tutti_load_double(tutti_tx* tx, const double* from);
/// Reads a pointer. `from` is the pointer's address: `tutti_load_ptr(tx, &node->next)`. The macro below gives the
/// result the pointer's type.
TUTTI_API void* tutti_load_ptr(tutti_tx* tx, const void* from);

/// These functions write a value, which other transactions see once this transaction has committed. They are an error
/// of use in a read-only block. Cost: one call. The default algorithm also writes an entry to the write log, and locks
/// the record at the first store to a stripe of 32 bytes.
TUTTI_API void tutti_store_u8(tutti_tx* tx, uint8_t* to, uint8_t value);
TUTTI_API void tutti_store_u16(tutti_tx* tx, uint16_t* to, uint16_t value);
TUTTI_API void tutti_store_u32(tutti_tx* tx, uint32_t* to, uint32_t value);
TUTTI_API void tutti_store_u64(tutti_tx* tx, uint64_t* to, uint64_t value);
TUTTI_API void tutti_store_float(tutti_tx* tx, float* to, float value);
TUTTI_API void tutti_store_double(tutti_tx* tx, double* to, double value);
/// Writes a pointer. `to` is the pointer's address: `tutti_store_ptr(tx, &node->next, next)`. The macro below makes the
/// compiler compare the types.
TUTTI_API void tutti_store_ptr(tutti_tx* tx, void* to, const void* value);

#ifndef __cplusplus
#define tutti_load_ptr(tx, from) ((__typeof__(*(from)))tutti_load_ptr((tx), (const void*)(from)))
#define tutti_store_ptr(tx, to, value) tutti_store_ptr((tx), (void*)(to), (0 ? *(to) : (value)))
#endif

static inline int8_t tutti_load_i8(tutti_tx* tx, const int8_t* from) {
    return TUTTI_CONVERTED(int8_t, tutti_load_u8(tx, TUTTI_SAME_BITS(const uint8_t*, from)));
}
static inline int16_t tutti_load_i16(tutti_tx* tx, const int16_t* from) {
    return TUTTI_CONVERTED(int16_t, tutti_load_u16(tx, TUTTI_SAME_BITS(const uint16_t*, from)));
}
static inline int32_t tutti_load_i32(tutti_tx* tx, const int32_t* from) {
    return TUTTI_CONVERTED(int32_t, tutti_load_u32(tx, TUTTI_SAME_BITS(const uint32_t*, from)));
}
static inline int64_t tutti_load_i64(tutti_tx* tx, const int64_t* from) {
    return TUTTI_CONVERTED(int64_t, tutti_load_u64(tx, TUTTI_SAME_BITS(const uint64_t*, from)));
}
static inline void tutti_store_i8(tutti_tx* tx, int8_t* to, int8_t value) {
    tutti_store_u8(tx, TUTTI_SAME_BITS(uint8_t*, to), TUTTI_CONVERTED(uint8_t, value));
}
static inline void tutti_store_i16(tutti_tx* tx, int16_t* to, int16_t value) {
    tutti_store_u16(tx, TUTTI_SAME_BITS(uint16_t*, to), TUTTI_CONVERTED(uint16_t, value));
}
static inline void tutti_store_i32(tutti_tx* tx, int32_t* to, int32_t value) {
    tutti_store_u32(tx, TUTTI_SAME_BITS(uint32_t*, to), TUTTI_CONVERTED(uint32_t, value));
}
static inline void tutti_store_i64(tutti_tx* tx, int64_t* to, int64_t value) {
    tutti_store_u64(tx, TUTTI_SAME_BITS(uint64_t*, to), TUTTI_CONVERTED(uint64_t, value));
}

/// Copies `bytes` bytes of shared memory at `from` to private memory at `to`. Any alignment is allowed. The copy is one
/// consistent value, as are all reads of a transaction. Cost: one load for each naturally aligned piece of 8, 4, 2 or 1
/// bytes.
TUTTI_API void tutti_read(tutti_tx* tx, void* to, const void* from, size_t bytes);
/// Copies `bytes` bytes of private memory at `from` to shared memory at `to`. Any alignment is allowed.
TUTTI_API void tutti_write(tutti_tx* tx, void* to, const void* from, size_t bytes);
/// Sets `bytes` bytes of shared memory at `to` to `value`. Any alignment is allowed.
TUTTI_API void tutti_fill(tutti_tx* tx, void* to, unsigned char value, size_t bytes);

TUTTI_C_END

#ifdef __cplusplus
template <class T>
inline T* tutti_load_ptr(tutti_tx* tx, T* const* from) {
    return static_cast<T*>(tutti_load_ptr(tx, static_cast<const void*>(from)));
}
template <class T>
inline void tutti_store_ptr(tutti_tx* tx, T** to, decltype(static_cast<T*>(nullptr)) value) {
    tutti_store_ptr(tx, static_cast<void*>(to), static_cast<const void*>(value));
}
#endif
