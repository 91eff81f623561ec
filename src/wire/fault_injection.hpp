// Checks of connections that a test can disable, in order to prove that the test would notice a missing check. In the
// library, `injected` is a constant, so the compiler removes each branch that depends on it.
#pragma once

#include <cstdint>

namespace tutti::wire {

enum class fault : std::uint8_t {
    none,
    no_authority_check,  ///< a certificate of any issuer is accepted
    no_name_check,       ///< a node's certificate is accepted for any other node
    no_deadline,         ///< a connection that sends nothing is kept forever
    no_limit,            ///< any number of connections may be open
};

#if defined(TUTTI_CLUSTER_FAULTS)
/// The disabled check. May be set only while no node exists.
inline constinit fault injected_fault = fault::none;
[[nodiscard]] inline bool injected(fault f) noexcept { return injected_fault == f; }
#else
[[nodiscard]] constexpr bool injected(fault) noexcept { return false; }
#endif

}  // namespace tutti::wire
