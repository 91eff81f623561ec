// A short sleep in the middle of a transaction.
#pragma once

#include <sys/syscall.h>
#include <unistd.h>

#include <ctime>

#include "base/errno_guard.hpp"

namespace tutti::base {

/// Sleeps for `nanoseconds`, which must be less than a second. Keeps errno.
///
/// Unlike the C library's nanosleep, this function is not a cancellation point, because a thread must not end in the
/// middle of a step of the engine.
inline void short_sleep_for(long nanoseconds) noexcept {
    const errno_guard saved_errno;
    const timespec length{0, nanoseconds};
    ::syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &length, nullptr);
}

}  // namespace tutti::base
