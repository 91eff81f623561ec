// A short sleep in the middle of a transaction.
#pragma once

#include <sys/syscall.h>
#include <unistd.h>

#include <ctime>

#include "base/errno.hpp"

namespace tutti::base {

/// Sleeps for that many nanoseconds, less than a second. Keeps errno.
///
/// Unlike the C library's nanosleep, this is no cancellation point: a thread must not end where a step of the engine is
/// half done.
inline void nap_for(long nanoseconds) noexcept {
    const kept_errno kept;
    const timespec length{0, nanoseconds};
    ::syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &length, nullptr);
}

}  // namespace tutti::base
