// The entries of the TM ABI that tests call directly, as one table: every type with every hint.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#define TUTTI_PURE [[gnu::transaction_pure]]

namespace language {

using complex_float = _Complex float;
using complex_double = _Complex double;
using complex_extended = _Complex long double;

/// One read and one write of the same type and a pair of hints.
struct barrier {
    const char* type;
    std::size_t size;   ///< number of bytes written
    std::size_t known;  ///< number of bytes with a value in each `unit` bytes; the rest is padding
    std::size_t unit;
    void (*read)(const void* from, void* into);
    void (*write)(void* to, const void* value);
    void (*log)(const void* at);
};

/// Reads a value of T at any address into raw bytes.
template <class T, T (*Read)(const void*)>
void read_into(const void* from, void* into) {
    const T value = Read(from);
    std::memcpy(into, &value, sizeof value);
}
template <class T, void (*Write)(void*, T)>
void write_from(void* to, const void* raw) {
    T value;
    std::memcpy(&value, raw, sizeof value);
    Write(to, value);
}

}  // namespace language

#define TUTTI_DECLARE(suffix, type)                \
    extern "C" {                                   \
    TUTTI_PURE type _ITM_R##suffix(const void*);   \
    TUTTI_PURE type _ITM_RaR##suffix(const void*); \
    TUTTI_PURE type _ITM_RaW##suffix(const void*); \
    TUTTI_PURE type _ITM_RfW##suffix(const void*); \
    TUTTI_PURE void _ITM_W##suffix(void*, type);   \
    TUTTI_PURE void _ITM_WaR##suffix(void*, type); \
    TUTTI_PURE void _ITM_WaW##suffix(void*, type); \
    TUTTI_PURE void _ITM_L##suffix(const void*);   \
    }

TUTTI_DECLARE(U1, std::uint8_t)
TUTTI_DECLARE(U2, std::uint16_t)
TUTTI_DECLARE(U4, std::uint32_t)
TUTTI_DECLARE(U8, std::uint64_t)
TUTTI_DECLARE(F, float)
TUTTI_DECLARE(D, double)
TUTTI_DECLARE(E, long double)
TUTTI_DECLARE(CF, language::complex_float)
TUTTI_DECLARE(CD, language::complex_double)
TUTTI_DECLARE(CE, language::complex_extended)
TUTTI_DECLARE(M64, __m64)
TUTTI_DECLARE(M128, __m128)

extern "C" {
TUTTI_PURE void _ITM_LB(const void*, std::size_t);
TUTTI_PURE void* _ITM_memcpyRtWt(void*, const void*, std::size_t);
TUTTI_PURE void* _ITM_memcpyRnWt(void*, const void*, std::size_t);
TUTTI_PURE void* _ITM_memcpyRtWn(void*, const void*, std::size_t);
TUTTI_PURE void* _ITM_memmoveRtWt(void*, const void*, std::size_t);
TUTTI_PURE void* _ITM_memmoveRtaRWtaW(void*, const void*, std::size_t);
TUTTI_PURE void* _ITM_memsetW(void*, int, std::size_t);
TUTTI_PURE [[noreturn]] void _ITM_abortTransaction(unsigned);
TUTTI_PURE const char* _ITM_libraryVersion();
}

#define TUTTI_PAIR(suffix, type, known, unit, read_hint, write_hint) \
    {#read_hint #suffix " " #write_hint,                             \
     sizeof(type),                                                   \
     known,                                                          \
     unit,                                                           \
     read_into<type, _ITM_##read_hint##suffix>,                      \
     write_from<type, _ITM_##write_hint##suffix>,                    \
     [](const void* at) { _ITM_L##suffix(at); }}

#define TUTTI_PAIRS(suffix, type, known, unit)                                                            \
    TUTTI_PAIR(suffix, type, known, unit, R, W), TUTTI_PAIR(suffix, type, known, unit, RaR, WaR),         \
        TUTTI_PAIR(suffix, type, known, unit, RaW, WaW), TUTTI_PAIR(suffix, type, known, unit, RfW, WaW), \
        TUTTI_PAIR(suffix, type, known, unit, RfW, W)

namespace language {

inline const barrier barriers[] = {
    TUTTI_PAIRS(U1, std::uint8_t, 1, 1),   TUTTI_PAIRS(U2, std::uint16_t, 2, 2),
    TUTTI_PAIRS(U4, std::uint32_t, 4, 4),  TUTTI_PAIRS(U8, std::uint64_t, 8, 8),
    TUTTI_PAIRS(F, float, 4, 4),           TUTTI_PAIRS(D, double, 8, 8),
    TUTTI_PAIRS(E, long double, 10, 16),   TUTTI_PAIRS(CF, complex_float, 4, 4),
    TUTTI_PAIRS(CD, complex_double, 8, 8), TUTTI_PAIRS(CE, complex_extended, 10, 16),
    TUTTI_PAIRS(M64, __m64, 8, 8),         TUTTI_PAIRS(M128, __m128, 16, 16),
};
inline constexpr std::size_t barrier_count = sizeof barriers / sizeof barriers[0];

}  // namespace language
