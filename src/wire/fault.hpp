// Checks of connections that a test may leave out, to prove that it would notice. In the library `broken` is a
// constant, and the branch behind it is gone.
#pragma once

#include <cstdint>

namespace tutti::wire {

enum class fault : std::uint8_t {
    none,
    no_authority_check,  ///< whoever has signed a certificate will do
    no_name_check,       ///< a certificate of any node will do for any other
    no_deadline,         ///< who calls and says nothing is waited for
    no_limit,            ///< any number may
};

#if defined(TUTTI_CLUSTER_FAULTS)
/// Set while no node is there.
inline constinit fault injected_fault = fault::none;
[[nodiscard]] inline bool broken(fault f) noexcept { return injected_fault == f; }
#else
[[nodiscard]] constexpr bool broken(fault) noexcept { return false; }
#endif

}  // namespace tutti::wire
