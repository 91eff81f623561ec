// How much work a stress test does. Every iteration count of the tests passes through here, and nowhere else.
//
// A sanitizer makes barriers several times slower and shows a race without needing it to do harm, so there fewer
// rounds say as much. TUTTI_TEST_EFFORT multiplies: the long ctest cases set it, and whoever hunts a rare failure.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>

#include "tutti/detail/config.hpp"

namespace tutti::support {

#if defined(TUTTI_SANITIZED)
inline constexpr std::size_t slowdown = 10;
#elif defined(TUTTI_CHECK)
inline constexpr std::size_t slowdown = 3;
#else
inline constexpr std::size_t slowdown = 1;
#endif

inline std::size_t effort() {
    static const std::size_t factor = [] {
        const char* text = std::getenv("TUTTI_TEST_EFFORT");
        return text != nullptr ? std::max(1ul, std::strtoul(text, nullptr, 10)) : 1ul;
    }();
    return factor;
}

/// Rounds to do instead of the `release` ones that take the intended time in a release build; at least four.
inline std::size_t rounds(std::size_t release) { return std::max<std::size_t>(4, release * effort() / slowdown); }

}  // namespace tutti::support
