// Plain memory in transactions for C: words and ranges of bytes.
#include <cstring>

#include "api/aligned_pieces.hpp"
#include "api/c_api/boundary.hpp"

using tutti::tx;
using tutti::api::for_each_piece;
using tutti::api::guarded;
using tutti::detail::access;
using tutti::detail::from_word;
using tutti::detail::to_word;
using tutti::detail::word;

namespace {

template <class T>
bool aligned(const void* address) {
    return reinterpret_cast<std::uintptr_t>(address) % sizeof(T) == 0;
}

template <class T>
TUTTI_ALWAYS_INLINE T load(tutti_tx* handle, const void* from) {
    if (!aligned<T>(from)) [[unlikely]] {
        tutti::api::fail_use(handle, "tutti_load: the address is not aligned to the type's size; use tutti_read");
    }
    return guarded(handle, [from](tx& t) { return from_word<T>(access::ops(t).load(t, from, sizeof(T))); });
}

template <class T>
TUTTI_ALWAYS_INLINE void store(tutti_tx* handle, void* to, T value) {
    if (!aligned<T>(to)) [[unlikely]] {
        tutti::api::fail_use(handle, "tutti_store: the address is not aligned to the type's size; use tutti_write");
    }
    guarded(handle, [to, value](tx& t) { access::ops(t).store(t, to, sizeof(T), to_word(value)); });
}

}  // namespace

uint8_t tutti_load_u8(tutti_tx* tx, const uint8_t* from) { return load<uint8_t>(tx, from); }
uint16_t tutti_load_u16(tutti_tx* tx, const uint16_t* from) { return load<uint16_t>(tx, from); }
uint32_t tutti_load_u32(tutti_tx* tx, const uint32_t* from) { return load<uint32_t>(tx, from); }
uint64_t tutti_load_u64(tutti_tx* tx, const uint64_t* from) { return load<uint64_t>(tx, from); }
float tutti_load_float(tutti_tx* tx, const float* from) { return load<float>(tx, from); }
double tutti_load_double(tutti_tx* tx, const double* from) { return load<double>(tx, from); }
void* tutti_load_ptr(tutti_tx* tx, const void* from) { return load<void*>(tx, from); }

void tutti_store_u8(tutti_tx* tx, uint8_t* to, uint8_t value) { store(tx, to, value); }
void tutti_store_u16(tutti_tx* tx, uint16_t* to, uint16_t value) { store(tx, to, value); }
void tutti_store_u32(tutti_tx* tx, uint32_t* to, uint32_t value) { store(tx, to, value); }
void tutti_store_u64(tutti_tx* tx, uint64_t* to, uint64_t value) { store(tx, to, value); }
void tutti_store_float(tutti_tx* tx, float* to, float value) { store(tx, to, value); }
void tutti_store_double(tutti_tx* tx, double* to, double value) { store(tx, to, value); }
void tutti_store_ptr(tutti_tx* tx, void* to, const void* value) {
    store(tx, to, reinterpret_cast<std::uintptr_t>(value));
}

void tutti_read(tutti_tx* handle, void* to, const void* from, size_t bytes) {
    guarded(handle, [=](tx& t) {
        auto* out = static_cast<unsigned char*>(to);
        for_each_piece(reinterpret_cast<std::uintptr_t>(from), bytes, [&](std::uintptr_t at, unsigned size) {
            const word w = access::ops(t).load(t, reinterpret_cast<const void*>(at), size);
            std::memcpy(out, &w, size);
            out += size;
        });
    });
}

void tutti_write(tutti_tx* handle, void* to, const void* from, size_t bytes) {
    guarded(handle, [=](tx& t) {
        const auto* in = static_cast<const unsigned char*>(from);
        for_each_piece(reinterpret_cast<std::uintptr_t>(to), bytes, [&](std::uintptr_t at, unsigned size) {
            word w = 0;
            std::memcpy(&w, in, size);
            access::ops(t).store(t, reinterpret_cast<void*>(at), size, w);
            in += size;
        });
    });
}

void tutti_fill(tutti_tx* handle, void* to, unsigned char value, size_t bytes) {
    guarded(handle, [=](tx& t) {
        for_each_piece(reinterpret_cast<std::uintptr_t>(to), bytes, [&](std::uintptr_t at, unsigned size) {
            constexpr word ones = 0x0101010101010101U;
            access::ops(t).store(t, reinterpret_cast<void*>(at), size, (ones * value) >> (8 * (8 - size)));
        });
    });
}
