#include "device/slice_extension.hpp"

#include <sys/prctl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>

#if __has_include(<sys/rseq.h>)
#include <sys/rseq.h>
#endif

namespace tutti::device {

/// A part of struct rseq. Both this thread and the kernel, when it interrupts this thread, read and write this part.
struct slice_control {
    std::uint8_t request;
    std::uint8_t granted;
};

namespace {

// Definitions from headers of Linux 7: <linux/prctl.h>, <asm/unistd.h>, <linux/rseq.h>.
constexpr int pr_rseq_slice_extension = 79;
constexpr unsigned long extension_set = 2, extension_enable = 1;
constexpr long sys_rseq_slice_yield = 471;
constexpr std::size_t control_offset = 28;

/// ENOTSUPP, which no header for programs defines. The kernel returns this error if the extension is off, or if the C
/// library has registered its area in the form for older kernels.
constexpr int error_not_supported = 524;

/// Returns the control in the registered area. Returns null if the C library has registered no area, or one that is too
/// short.
slice_control* registered_control() noexcept {
#if __has_include(<sys/rseq.h>)
    if (__rseq_size < control_offset + sizeof(slice_control)) return nullptr;
    char* const area = static_cast<char*>(__builtin_thread_pointer()) + __rseq_offset;
    return reinterpret_cast<slice_control*>(area + control_offset);
#else
    return nullptr;
#endif
}

std::string reason(int error) {
    if (error == EINVAL) return "this kernel has no slice extension";
    if (error == error_not_supported) return "slice extension is off, or this C library too old for it";
    return "slice extension is refused: " + std::string{std::strerror(error)};
}

template <class T>
std::atomic_ref<T> shared_with_kernel(T& field) noexcept {
    return std::atomic_ref<T>{field};
}

}  // namespace

slice_control* enable_slice_extension(std::string& problem) {
    const int before = errno;
    const bool enabled = ::prctl(pr_rseq_slice_extension, extension_set, extension_enable, 0UL, 0UL) == 0;
    if (!enabled) problem = reason(errno);
    errno = before;
    slice_control* const control = enabled ? registered_control() : nullptr;
    if (enabled && control == nullptr) problem = "this C library is too old for slice extension";
    return control;
}

void request_slice_extension(slice_control& control) noexcept {
    shared_with_kernel(control.request).store(1, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);  // partner: the interrupt that reads the request
}

void end_slice_extension(slice_control& control) noexcept {
    std::atomic_signal_fence(std::memory_order_seq_cst);  // partner: the same interrupt
    shared_with_kernel(control.request).store(0, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);  // partner: the interrupt that would grant the request
    if (shared_with_kernel(control.granted).load(std::memory_order_relaxed) == 0) return;
    const int before = errno;
    ::syscall(sys_rseq_slice_yield);
    errno = before;
}

}  // namespace tutti::device
