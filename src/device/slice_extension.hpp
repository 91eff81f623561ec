// A longer turn on the processor by the kernel itself, where neither the module nor the scheduler serves a thread: the
// slice extension of restartable sequences (Linux 7, CONFIG_RSEQ_SLICE_EXTENSION; the kernel's
// Documentation/userspace-api/rseq.rst).
//
// A thread asks in the area that the C library has registered for it. The kernel grants one extension, of 5 to 50 us as
// the administrator has chosen, and sees to its end by itself.
#pragma once

#include <string>

namespace tutti::device {

/// What a thread asks in.
struct slice_control;

/// The calling thread's, for as long as it lives; null, and why as the end of a sentence, if this kernel or this C
/// library has none. Throws std::bad_alloc.
[[nodiscard]] slice_control* enable_slice_extension(std::string& problem);

/// From now on the calling thread's turn may be longer, once.
void ask_for_longer_turn(slice_control& mine) noexcept;

/// No longer; leaves the processor, if the turn was longer.
void give_turn_back(slice_control& mine) noexcept;

}  // namespace tutti::device
