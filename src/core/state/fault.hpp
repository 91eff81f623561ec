// Steps of the protocol that a test may leave out, to prove that the tests would notice.
//
// Where a step is, the engine asks: `if (!broken(fault::skip_validation) && !validate(t)) …`. In the library that users
// get `broken` is a constant, and the branch behind it is gone. Two others can be broken: the interleaving build
// (TUTTI_INTERLEAVE), by tests/interleaving/faults_test.cpp, and the library with faults (TUTTI_FAULTS), by
// tests/mutations, which runs the suite that is named for a fault and demands that it fails.
#pragma once

#include <cstdint>

namespace tutti::core {

/// An algorithm that has no such step ignores the fault.
enum class fault : std::uint8_t {
    none,
#define TUTTI_FAULT(name) name,
#include "core/state/faults.def"
#undef TUTTI_FAULT
};

#if defined(TUTTI_INTERLEAVE) || defined(TUTTI_FAULTS)
/// Set while no transaction runs.
inline constinit fault injected_fault = fault::none;
[[nodiscard]] inline bool broken(fault f) noexcept { return injected_fault == f; }
#else
[[nodiscard]] constexpr bool broken(fault) noexcept { return false; }
#endif

}  // namespace tutti::core
