// A compare-and-swap of two adjacent words.
#pragma once

#include <cstdint>

#include "tutti/detail/config.hpp"

namespace tutti::base {

struct word_pair {
    std::uint64_t first;
    std::uint64_t second;
};

/// Replaces the two words at `at` by `desired` in one step, if they equal `expected`. Sequentially consistent. Returns
/// true if it has replaced them. REQUIRES: `at` is aligned to 16 bytes.
TUTTI_ALWAYS_INLINE bool exchange_pair(void* at, word_pair expected, word_pair desired) noexcept {
#if defined(__x86_64__)
    bool done = false;
    asm volatile("lock cmpxchg16b %1"
                 : "=@ccz"(done), "+m"(*static_cast<word_pair*>(at)), "+a"(expected.first), "+d"(expected.second)
                 : "b"(desired.first), "c"(desired.second)
                 : "memory");
    return done;
#elif defined(__aarch64__)
    std::uint64_t first = 0;
    std::uint64_t second = 0;
    std::uint32_t failed = 0;
    // If the words differ, the loaded values are stored back, because only a store makes the load of two words one
    // step.
    asm volatile(
        "1: ldaxp %[first], %[second], [%[at]]\n"
        "   cmp %[first], %[expected_first]\n"
        "   ccmp %[second], %[expected_second], #0, eq\n"
        "   b.ne 2f\n"
        "   stlxp %w[failed], %[desired_first], %[desired_second], [%[at]]\n"
        "   cbnz %w[failed], 1b\n"
        "   b 3f\n"
        "2: stlxp %w[failed], %[first], %[second], [%[at]]\n"
        "   cbnz %w[failed], 1b\n"
        "3: dmb ish\n"
        : [first] "=&r"(first), [second] "=&r"(second), [failed] "=&r"(failed)
        : [at] "r"(at), [expected_first] "r"(expected.first), [expected_second] "r"(expected.second),
          [desired_first] "r"(desired.first), [desired_second] "r"(desired.second)
        : "cc", "memory");
    return first == expected.first && second == expected.second;
#else
#error "tutti: exchange_pair needs an instruction of this processor that replaces two words"
#endif
}

}  // namespace tutti::base
