// A longer turn on the processor, given by the kernel itself to threads that neither the module nor the scheduler
// serves: the slice extension of restartable sequences (Linux 7, CONFIG_RSEQ_SLICE_EXTENSION; the kernel's
// Documentation/userspace-api/rseq.rst).
//
// A thread asks for it in the area that the C library has registered. The kernel grants one extension, of 5 to 50 us as
// the administrator has chosen, and ends it by itself.
#pragma once

#include <string>

namespace tutti::device {

/// The bytes in which a thread asks.
struct slice_control;

/// Enables the extension, and returns the calling thread's control, valid as long as the thread lives. Returns null if
/// this kernel or this C library has no extension; `problem` then says why, as the end of a sentence. Throws
/// std::bad_alloc.
[[nodiscard]] slice_control* enable_slice_extension(std::string& problem);

/// Asks for a longer turn of the calling thread, once.
void request_slice_extension(slice_control& control) noexcept;

/// Takes the request back, and leaves the processor if the turn was longer.
void end_slice_extension(slice_control& control) noexcept;

}  // namespace tutti::device
