// Puts the engine to where a process with a known past would have it, so that an execution depends on nothing but its
// schedule. Versions, too, start where they did, so that the same prefix leads to the same choices again.
#pragma once

#include <cstdint>

namespace interleaving {

/// Where the version clock starts (algorithms/version_clock.hpp). A descriptor changes its way after dozens of commits,
/// which no program here makes.
enum class clock_state : std::uint8_t {
    counting,         ///< as in a fresh process
    deferred,         ///< commits only load the clock
    about_to_switch,  ///< counting, but the next commits switch to and fro
    late,             ///< counting; all counters of the engine stand where years of commits have brought them
    ending,           ///< counting; the first commit of each descriptor begins a new era if it can
};

/// REQUIRES: no transaction runs, and every descriptor has been given back.
void make_engine_pristine(clock_state clock);

}  // namespace interleaving
