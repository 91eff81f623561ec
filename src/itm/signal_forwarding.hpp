// Forwards a signal from a block of the language to the block of the library around it.
//
// The signal is an exception, but the compiler assumes that barriers and begins do not throw. Therefore a frame with
// something to clean up has no table entry for these calls. If an exception reaches such a call in such a frame, the
// process ends. So this file throws the exception from a frame further out. From there, the exception must be able to
// pass every frame up to the library's block. The file chooses the innermost such frame, and the exception seems to
// come from the function that this frame called. The frames inside are dropped, as by a jump: effects of their
// destructors outside the transaction do not happen.
#pragma once

#include "itm/block.hpp"

namespace tutti::itm {

/// Forwards the pending signal. The signal belongs to d. If d is idle, the signal belongs to the transaction around d's
/// (core/lifecycle/open_nesting.hpp), in whose handler d's open nested block was to run. REQUIRES: the innermost frame
/// of that transaction is a block of the library, and no exception of this runtime is being handled. Ends the process
/// with a message if the stack cannot be read.
[[noreturn]] void forward_to_library(descriptor& d);

}  // namespace tutti::itm

extern "C" {
// begin_x86_64.S
/// Throws the pending signal as if from the function that the frame at `from` has called.
[[noreturn]] void tutti_itm_throw_from(const tutti::itm::registers* from);
[[noreturn]] void tutti_itm_throw();
}
