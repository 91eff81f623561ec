// The report as JSON; docs/language.md describes its fields.
#pragma once

#include <cstdint>
#include <string>

#include "itm/journal.hpp"

namespace tutti::itm {

/// A moment by both clocks: their distance to another one says how long a tick is.
struct instant {
    std::uint64_t ticks;
    base::deadline time;
};
inline instant now() noexcept { return {base::ticks(), base::real_now()}; }

/// What all contexts have counted since `began`. Throws std::bad_alloc.
std::string report_text(const instant& began);

}  // namespace tutti::itm
