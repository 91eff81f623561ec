// An execution: all attempts of one outermost block. How its attempts begin, whatever the algorithm; ends.hpp and
// commit.hpp are how they end.
#pragma once

#include "core/state/descriptor.hpp"

namespace tutti::core {

/// Begins the next attempt of d.run. Throws deadline_missed or interrupted, and then the block is closed. REQUIRES:
/// d.frame_ is the outermost block; nothing is held.
void attempt_start(descriptor& d);

/// Begins the first attempt of a block that starts in a stricter mode, has a deadline, is counted, or has a policy that
/// listens. Throws for a deadline as begin_timed and attempt_start do.
void execution_start(descriptor& d);

[[noreturn]] void refuse_write();
[[noreturn]] void refuse_misaligned();

}  // namespace tutti::core
