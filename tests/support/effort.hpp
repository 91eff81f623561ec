// The amount of work of a stress test. Every iteration count of the tests uses these functions.
//
// A sanitizer slows barriers down several times, and finds a race before it does harm, so fewer rounds are sufficient
// there. TUTTI_TEST_EFFORT is a factor, which may be below one. `./dev torture anomalies` and the cases under valgrind
// set it, and you set it to search for a rare failure.
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

/// Returns the factor, or 1 if the variable is unset or invalid.
inline double effort() {
    static const double factor = [] {
        const char* const text = std::getenv("TUTTI_TEST_EFFORT");
        const double given = text != nullptr ? std::strtod(text, nullptr) : 1;
        return given > 0 ? given : 1;
    }();
    return factor;
}

/// Returns the number of rounds in this build; `release` rounds take the intended time in a release build. At least
/// four.
inline std::size_t rounds(std::size_t release) {
    return std::max<std::size_t>(4, static_cast<std::size_t>(static_cast<double>(release) * effort() / slowdown));
}

}  // namespace tutti::support
