// Selects the implementation of hardware transactions for this build.
#pragma once

#if defined(TUTTI_INTERLEAVE) || defined(TUTTI_FAULTS)
#include "hardware/software_htm.hpp"
#else
#include "hardware/rtm.hpp"
#endif

namespace tutti::hardware {

#if defined(TUTTI_INTERLEAVE) || defined(TUTTI_FAULTS)
using selected = software_htm;
#else
using selected = rtm;
#endif

}  // namespace tutti::hardware
