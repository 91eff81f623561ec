// An execution: all attempts of one outermost block. This file has their begin, for all algorithms; ends.hpp and
// commit.hpp have their ends.
#pragma once

#include "core/state/descriptor.hpp"

namespace tutti::core {

/// Begins the next attempt of d.run. Throws deadline_missed or interrupted, and then the block is closed. REQUIRES:
/// d.frame_ is the outermost block; d holds nothing.
void attempt_start(descriptor& d);

/// Begins the first attempt of a block that starts in a stricter mode, has a deadline, is counted, or has a policy that
/// listens. Throws for a deadline as begin_timed and attempt_start do.
void execution_start(descriptor& d);

[[noreturn]] void refuse_write();
[[noreturn]] void refuse_misaligned();

}  // namespace tutti::core
