// An execution: all attempts of one outermost block. This file declares how attempts begin, under any algorithm;
// ends.hpp and commit.hpp declare how they end.
#pragma once

#include "core/state/descriptor.hpp"

namespace tutti::core {

/// Begins the next attempt of d.run. If it throws deadline_missed or interrupted, the block is closed. REQUIRES:
/// d.frame_ is the outermost block; d holds nothing.
void attempt_start(descriptor& d);

/// Begins the first attempt of a block that starts in a stricter mode, has a deadline, is counted, or has a policy that
/// listens. For a deadline, throws what begin_timed and attempt_start throw.
void execution_start(descriptor& d);

[[noreturn]] void refuse_write(const descriptor& d);
[[noreturn]] void refuse_misaligned();

}  // namespace tutti::core
