// How much work a stress test does. Every iteration count of the tests passes through here, and nowhere else.
//
// A sanitizer makes barriers several times slower and shows a race without needing it to do harm, so there fewer
// rounds say as much. TUTTI_TEST_EFFORT multiplies, also by less than one: `./dev torture anomalies` sets it, the cases
// under valgrind do, and you do when you hunt a rare failure.
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

/// 1 if the variable is not set, or says nothing useful.
inline double effort() {
    static const double factor = [] {
        const char* const text = std::getenv("TUTTI_TEST_EFFORT");
        const double given = text != nullptr ? std::strtod(text, nullptr) : 1;
        return given > 0 ? given : 1;
    }();
    return factor;
}

/// Rounds to do instead of the `release` ones that take the intended time in a release build; at least four.
inline std::size_t rounds(std::size_t release) {
    return std::max<std::size_t>(4, static_cast<std::size_t>(static_cast<double>(release) * effort() / slowdown));
}

}  // namespace tutti::support
