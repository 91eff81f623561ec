// Steps of the protocol that a test can leave out, to prove that the tests notice the omission.
//
// At each such step the engine asks: `if (!injected(fault::skip_validation) && !validate(t)) …`. In the library for
// users `injected` is a constant, so the compiler removes the branch. Two builds can leave out steps. The interleaving
// build (TUTTI_INTERLEAVE) does so in tests/interleaving/faults_test.cpp. The library with faults (TUTTI_FAULTS) does
// so in tests/mutations. For each fault, tests/mutations runs the suite that the fault names, and demands that the
// suite fails.
#pragma once

#include <cstdint>

namespace tutti::core {

/// The step to leave out. An algorithm that does not have the step ignores the fault.
enum class fault : std::uint8_t {
    none,
#define TUTTI_FAULT(name) name,
#include "core/state/faults.def"
#undef TUTTI_FAULT
};

#if defined(TUTTI_INTERLEAVE) || defined(TUTTI_FAULTS)
/// Change it only while no transaction runs.
inline constinit fault injected_fault = fault::none;
[[nodiscard]] inline bool injected(fault f) noexcept { return injected_fault == f; }
#else
[[nodiscard]] constexpr bool injected(fault) noexcept { return false; }
#endif

}  // namespace tutti::core
