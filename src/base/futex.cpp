#include "base/futex.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <ctime>

namespace tutti::base {

void futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t expected,
                std::optional<deadline> until) noexcept {
#if defined(TUTTI_INTERLEAVE)
    detail::interleaving_block(&word, expected, until);
#else
    // FUTEX_WAIT_BITSET takes an absolute time of CLOCK_MONOTONIC, which is what steady_clock counts.
    timespec absolute{};
    if (until) {
        const auto nanoseconds = until->time_since_epoch().count();
        absolute.tv_sec = static_cast<time_t>(nanoseconds / 1'000'000'000);
        absolute.tv_nsec = static_cast<long>(nanoseconds % 1'000'000'000);
    }
    ::syscall(SYS_futex, &word, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, expected, until ? &absolute : nullptr, nullptr,
              FUTEX_BITSET_MATCH_ANY);
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
