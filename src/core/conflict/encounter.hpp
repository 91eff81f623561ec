// Who asked whom to die, for those who tell a user which two blocks met. A hint that nothing is decided by: descriptors
// whose numbers are 4096 apart share an entry, and a later killer overwrites an earlier one.
#pragma once

#include "core/state/descriptor.hpp"

namespace tutti::core {

void note_kill(const descriptor& victim, const descriptor& killer) noexcept;

inline constexpr std::uint32_t nobody = ~0U;
/// The number of whoever did so last, or `nobody`.
std::uint32_t last_killer_of(const descriptor& victim) noexcept;

}  // namespace tutti::core
