// Forwards a signal from a block of the language to the block of the library around it.
//
// The signal is an exception, but the compiler assumes that barriers and begins do not throw. Therefore a frame with
// something to clean up has no table entry for these calls. If an exception reaches such a call in such a frame, the
// process ends. So this file throws the exception from a frame further out. From there, the exception must be able to
// pass every frame up to the library's block. This code chooses the innermost frame for which this is true. The
// exception then seems to come from the function that this frame called. The frames inside are dropped, as by a jump:
// effects of their destructors outside the transaction do not happen.
#pragma once

#include "itm/block.hpp"

namespace tutti::itm {

/// Forwards the pending signal. The signal belongs to d. If d is idle, the signal belongs to a transaction of a
/// descriptor around d (core/lifecycle/open_nesting.hpp). d's open nested block was about to run in a handler of that
/// transaction. REQUIRES: the innermost frame of that transaction is a block of the library, and no exception of this
/// runtime is being handled. Ends the process with a message if the stack cannot be read.
[[noreturn]] void forward_to_library(descriptor& d);

}  // namespace tutti::itm

extern "C" {
// begin_x86_64.S
/// Throws the pending signal as if from the function that the frame at `from` has called.
[[noreturn]] void tutti_itm_throw_from(const tutti::itm::registers* from);
[[noreturn]] void tutti_itm_throw();
}
