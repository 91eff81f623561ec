// The slice extension of restartable sequences: the kernel itself extends a thread's turn on the processor. Tutti uses
// the extension for threads that use neither its kernel module nor its scheduler. Needs Linux 7 with
// CONFIG_RSEQ_SLICE_EXTENSION (the kernel's Documentation/userspace-api/rseq.rst).
//
// A thread requests an extension in the area that the C library has registered. The kernel grants one extension of 5 to
// 50 us, as the administrator has chosen, and ends the extension by itself.
#pragma once

#include <string>

namespace tutti::device {

/// The bytes in which a thread requests an extension.
struct slice_control;

/// Enables the extension. Returns the calling thread's control, which is valid as long as the thread lives. If this
/// kernel or this C library has no extension, returns null and sets `problem` to the reason, worded as the end of a
/// sentence. Throws std::bad_alloc.
[[nodiscard]] slice_control* enable_slice_extension(std::string& problem);

/// Requests one extension of the calling thread's turn.
void request_slice_extension(slice_control& control) noexcept;

/// Withdraws the request. If the turn was extended, also leaves the processor.
void end_slice_extension(slice_control& control) noexcept;

}  // namespace tutti::device
