// What follows from the end of a hardware attempt, whoever ended it.
#pragma once

#include "core/state/descriptor.hpp"
#include "tutti/hardware.hpp"

namespace tutti::hardware {

/// So many hardware attempts of one execution, before it runs in software.
inline constexpr std::uint8_t attempts_in_hardware = 8;

/// A hardware attempt of d ended for `why`: counts it, and says by d.kept.hardware.tries_left whether another one pays.
/// REQUIRES: none runs, or what is stored here would be lost.
void note_abort(core::descriptor& d, hardware_abort why) noexcept;

}  // namespace tutti::hardware
