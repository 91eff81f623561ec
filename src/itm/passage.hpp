// The way of a signal from a block of the language to the block of the library around it.
//
// Such a signal is an exception, and the compiler takes barriers and begins for calls that do not throw: a frame with
// something to clean up ends the process when an exception reaches it at such a call, because its table has no entry
// for that. So the exception is thrown further out: it seems to come from what was called by the innermost frame from
// which on every frame, up to that of the library's block, can be passed. The frames inside are dropped as a jump would
// drop them; what a destructor there would have done outside the transaction is not done.
#pragma once

#include "itm/block.hpp"

namespace tutti::itm {

/// Sends the pending signal on: d's, or, if d is idle, that of the transaction around it
/// (core/lifecycle/open_nesting.hpp), in a handler of whose open nested block d's was to run. REQUIRES: the innermost
/// frame of that one is a block of the library; no exception of ours is being handled. Ends the process with a message
/// if the stack cannot be read.
[[noreturn]] void pass_to_library(descriptor& d);

}  // namespace tutti::itm

extern "C" {
// begin_x86_64.S
/// Throws the pending signal as if from what the frame at `from` has called.
[[noreturn]] void tutti_itm_throw_from(const tutti::itm::registers* from);
[[noreturn]] void tutti_itm_throw();
}
