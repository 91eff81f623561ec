#include "base/futex.hpp"

#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <ctime>

#include "base/errno_guard.hpp"
#include "tutti/detail/config.hpp"

namespace tutti::base {

namespace {

#if !defined(TUTTI_INTERLEAVE)
/// Returns the time for FUTEX_WAIT_BITSET, which takes an absolute time of CLOCK_MONOTONIC, the clock of steady_clock.
timespec absolute(deadline until) noexcept {
    const auto nanoseconds = until.time_since_epoch().count();
    return {static_cast<time_t>(nanoseconds / 1'000'000'000), static_cast<long>(nanoseconds % 1'000'000'000)};
}

/// Sleeps. This function has no objects with destructors, so that a cancellation may unwind it at any instruction.
TUTTI_NOINLINE void sleep_on(const std::atomic<std::uint32_t>* word, std::uint32_t expected, const timespec* until) {
    ::syscall(SYS_futex, word, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, expected, until, nullptr,
              FUTEX_BITSET_MATCH_ANY);
}
/// Sleeps, and is a cancellation point like the C library's own calls. A thread that is cancelled leaves this function
/// from within a signal handler.
TUTTI_NOINLINE void sleep_cancellably(const std::atomic<std::uint32_t>* word, std::uint32_t expected,
                                      const timespec* until) {
    int before = 0;
    ::pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &before);
    sleep_on(word, expected, until);
    ::pthread_setcanceltype(before, nullptr);
}
#endif

}  // namespace

void futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t expected,
                std::optional<deadline> until) noexcept {
#if defined(TUTTI_INTERLEAVE)
    detail::interleaving_block(&word, expected, until);
#else
    const timespec at = absolute(until.value_or(deadline{}));
    const errno_guard saved_errno;
    sleep_on(&word, expected, until ? &at : nullptr);
#endif
}

void futex_wait_cancellably(const std::atomic<std::uint32_t>& word, std::uint32_t expected,
                            std::optional<deadline> until) {
#if defined(TUTTI_INTERLEAVE)
    detail::interleaving_block(&word, expected, until);
#else
    const timespec at = absolute(until.value_or(deadline{}));
    const int error = errno;  // no guard object, because a cancellation may unwind at any instruction (sleep_on)
    sleep_cancellably(&word, expected, until ? &at : nullptr);
    errno = error;
#endif
}

namespace {

void wake(const std::atomic<std::uint32_t>& word, int at_most) noexcept {
#if defined(TUTTI_INTERLEAVE)
    detail::interleaving_wake(&word, at_most != 1);
#else
    ::syscall(SYS_futex, &word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, at_most, nullptr, nullptr, 0);
#endif
}

}  // namespace

void futex_wake_all(const std::atomic<std::uint32_t>& word) noexcept { wake(word, INT_MAX); }
void futex_wake_one(const std::atomic<std::uint32_t>& word) noexcept { wake(word, 1); }

}  // namespace tutti::base
