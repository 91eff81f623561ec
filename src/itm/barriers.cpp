// Defines the read and write barriers of the ABI for all types and hints.
//
// A hint is what the compiler knows about other accesses to the same location. This runtime does not need hints,
// because the orec shows whether the attempt has read or written a location. A roll-back must also be correct at a
// nested block's begin, where the compiler's knowledge ends. So the variants of an access are one function with several
// names. Only a read for a write is different: it acquires the orec immediately, which saves logging the read. This
// early acquisition is correct whether or not the write follows.
#include <immintrin.h>

#include "itm/access.hpp"

namespace {

using namespace tutti::itm;

using complex_float = _Complex float;
using complex_double = _Complex double;
using complex_extended = _Complex long double;

}  // namespace

#define TUTTI_ITM_ALIAS(of) __attribute__((visibility("default"), alias(#of)))

// Declares the other names of a type's read and write functions. Defines its read for a write, and its logging.
#define TUTTI_ITM_NAMES(suffix, type)                                                           \
    extern "C" type _ITM_RaR##suffix(const void*) noexcept TUTTI_ITM_ALIAS(_ITM_R##suffix);     \
    extern "C" type _ITM_RaW##suffix(const void*) noexcept TUTTI_ITM_ALIAS(_ITM_R##suffix);     \
    TUTTI_ITM type _ITM_RfW##suffix(void* from) noexcept { return read_for_write<type>(from); } \
    extern "C" void _ITM_WaR##suffix(void*, type) noexcept TUTTI_ITM_ALIAS(_ITM_W##suffix);     \
    extern "C" void _ITM_WaW##suffix(void*, type) noexcept TUTTI_ITM_ALIAS(_ITM_W##suffix);     \
    TUTTI_ITM void _ITM_L##suffix(const void* at) noexcept { log_bytes(at, sizeof(type)); }

#define TUTTI_ITM_TYPE(suffix, type)                                                         \
    TUTTI_ITM type _ITM_R##suffix(const void* from) noexcept { return read<type>(from); }    \
    TUTTI_ITM void _ITM_W##suffix(void* to, type value) noexcept { write<type>(to, value); } \
    TUTTI_ITM_NAMES(suffix, type)

TUTTI_ITM_TYPE(U1, std::uint8_t)
TUTTI_ITM_TYPE(U2, std::uint16_t)
TUTTI_ITM_TYPE(U4, std::uint32_t)
TUTTI_ITM_TYPE(U8, std::uint64_t)
TUTTI_ITM_TYPE(F, float)
TUTTI_ITM_TYPE(D, double)
TUTTI_ITM_TYPE(E, long double)
TUTTI_ITM_TYPE(CF, complex_float)
TUTTI_ITM_TYPE(CD, complex_double)
TUTTI_ITM_TYPE(CE, complex_extended)
TUTTI_ITM_TYPE(M64, __m64)
TUTTI_ITM_TYPE(M128, __m128)

// An aligned vector of 32 bytes fills a stripe. The compiler passes the vector in a register only if AVX is enabled.
TUTTI_ITM __attribute__((target("avx"))) __m256 _ITM_RM256(const void* from) noexcept {
    __m256 value;
    read_bytes(&value, from, sizeof value);
    return value;
}
TUTTI_ITM __attribute__((target("avx"))) void _ITM_WM256(void* to, __m256 value) noexcept {
    write_bytes(to, &value, sizeof value);
}
extern "C" {
__attribute__((target("avx"))) __m256 _ITM_RaRM256(const void*) noexcept TUTTI_ITM_ALIAS(_ITM_RM256);
__attribute__((target("avx"))) __m256 _ITM_RaWM256(const void*) noexcept TUTTI_ITM_ALIAS(_ITM_RM256);
__attribute__((target("avx"))) __m256 _ITM_RfWM256(const void*) noexcept TUTTI_ITM_ALIAS(_ITM_RM256);
__attribute__((target("avx"))) void _ITM_WaRM256(void*, __m256) noexcept TUTTI_ITM_ALIAS(_ITM_WM256);
__attribute__((target("avx"))) void _ITM_WaWM256(void*, __m256) noexcept TUTTI_ITM_ALIAS(_ITM_WM256);
}
TUTTI_ITM void _ITM_LM256(const void* at) noexcept { log_bytes(at, sizeof(__m256)); }

TUTTI_ITM void _ITM_LB(const void* at, std::size_t size) noexcept { log_bytes(at, size); }
