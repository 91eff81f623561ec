// Resets the engine to a known state, so that an execution depends only on its schedule. Versions also start at their
// former values, so that the same prefix leads to the same choices again.
#pragma once

#include <cstdint>

namespace interleaving {

/// The initial state of the version clock (algorithms/version_clock.hpp). A descriptor switches modes only after dozens
/// of commits, and programs here make fewer.
enum class clock_state : std::uint8_t {
    counting,         ///< as in a fresh process
    deferred,         ///< commits only load the clock
    about_to_switch,  ///< counting, but the next commits switch back and forth
    late,             ///< counting; all counters of the engine have the values of years of commits
    ending,           ///< counting; the first commit of each descriptor begins a new era if it can
};

/// Resets the engine. REQUIRES: no transaction runs, and every descriptor has been given back.
void make_engine_pristine(clock_state clock);

}  // namespace interleaving
