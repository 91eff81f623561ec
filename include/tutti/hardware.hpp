/// @file
/// The reasons why hardware attempts end, as statistics count them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tutti/c/hardware_aborts.h"
#include "tutti/detail/config.hpp"

namespace tutti {

/// The reason why a hardware attempt of `hytm` or `htm` ended without effect. tutti/c/hardware_aborts.h explains each
/// reason. The block continues with another hardware attempt or in software, so these are not aborts of the block.
enum class hardware_abort : std::uint8_t {
#define TUTTI_ENUMERATOR(name, NAME) name,
    TUTTI_HARDWARE_ABORTS(TUTTI_ENUMERATOR)
#undef TUTTI_ENUMERATOR
};

#define TUTTI_ONE_MORE(name, NAME) +1
inline constexpr std::size_t hardware_abort_count = 0 TUTTI_HARDWARE_ABORTS(TUTTI_ONE_MORE);
#undef TUTTI_ONE_MORE

/// Returns the enumerator's name, as in statistics. Never fails.
[[nodiscard]] TUTTI_EXPORT std::string_view name_of(hardware_abort why) noexcept;

}  // namespace tutti
