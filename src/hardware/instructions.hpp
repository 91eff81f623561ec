// The instructions of Intel's Restricted Transactional Memory. Intel: "64 and IA-32 Architectures Software Developer's
// Manual", volume 1, chapter 16.
//
// XBEGIN names the address at which execution continues after an abort; EAX then holds the reason. An abort restores
// all other registers and memory to their state at XBEGIN. An abort also restores stack frames that were left and
// overwritten after XBEGIN, because the stores to them were part of the transaction. So a function that begins a
// transaction may return while the transaction runs, and returns again from the same frame after an abort.
//
// The code uses inline assembly instead of the compiler's intrinsics, so that no file needs special target options.
// Processors other than x86-64 have no such instructions; rtm::exists returns false there.
#pragma once

#include <cstdint>

#include "tutti/detail/config.hpp"
#include "tutti/hardware.hpp"

/// The instructions. REQUIRES: the processor has RTM. `reason_of` needs no RTM.
namespace tutti::hardware::instructions {

/// The value that XBEGIN leaves in EAX while the transaction runs.
inline constexpr std::uint32_t has_begun = ~std::uint32_t{0};

[[nodiscard]] TUTTI_ALWAYS_INLINE std::uint32_t xbegin() noexcept {
    std::uint32_t status = has_begun;
#if defined(__x86_64__)
    asm volatile("xbegin 1f\n1:" : "+a"(status) : : "memory");
#else
    status = 0;
#endif
    return status;
}
TUTTI_ALWAYS_INLINE void xend() noexcept {
#if defined(__x86_64__)
    asm volatile("xend" : : : "memory");
#endif
}
/// Aborts the transaction. Does nothing outside of a transaction.
template <hardware_abort Why>
TUTTI_ALWAYS_INLINE void xabort() noexcept {
#if defined(__x86_64__)
    asm volatile("xabort %0" : : "i"(static_cast<std::uint8_t>(Why)) : "memory");
#endif
}
[[nodiscard]] TUTTI_ALWAYS_INLINE bool xtest() noexcept {
    bool running = false;
#if defined(__x86_64__)
    asm volatile("xtest" : "=@ccnz"(running) : : "memory");
#endif
    return running;
}

/// Returns the reason of an abort. The argument is the value that XBEGIN left in EAX.
[[nodiscard]] constexpr hardware_abort reason_of(std::uint32_t status) noexcept {
    constexpr std::uint32_t by_xabort = 1U << 0;
    constexpr std::uint32_t conflict = 1U << 2;
    constexpr std::uint32_t capacity = 1U << 3;
    constexpr std::uint32_t breakpoint = 1U << 4;
    constexpr std::uint32_t nested = 1U << 5;
    if ((status & by_xabort) != 0 && (status >> 24) < hardware_abort_count)
        return static_cast<hardware_abort>(status >> 24);
    // A processor may also report a conflict when a transaction is too large.
    if ((status & capacity) != 0) return hardware_abort::capacity;
    if ((status & conflict) != 0) return hardware_abort::conflict;
    if ((status & breakpoint) != 0) return hardware_abort::debug;
    if ((status & nested) != 0) return hardware_abort::nested;
    return hardware_abort::interrupt;
}

}  // namespace tutti::hardware::instructions
