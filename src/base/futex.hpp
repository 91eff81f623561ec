// Sleeping on a word, and spinning before that. Nothing else in the runtime blocks.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "base/clock.hpp"

namespace tutti::detail {
#if defined(TUTTI_INTERLEAVE)
// Defined by the interleaving scheduler.
void interleaving_spin() noexcept;
void interleaving_block(const std::atomic<std::uint32_t>* word, std::uint32_t expected,
                        std::optional<base::deadline> until) noexcept;
void interleaving_wake(const std::atomic<std::uint32_t>* word, bool all) noexcept;
#endif
}  // namespace tutti::detail

namespace tutti::base {

/// Sleeps while `word` is `expected`, until another thread wakes it or the deadline passes. May return early: callers
/// loop.
TUTTI_EXPORT void futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t expected,
                                    std::optional<deadline> until = std::nullopt) noexcept;

/// The same as a cancellation point (pthreads(7)): the forced unwind of a cancelled thread may leave it.
void futex_wait_cancellably(const std::atomic<std::uint32_t>& word, std::uint32_t expected,
                            std::optional<deadline> until = std::nullopt);

/// Wakes all threads that sleep on `word`.
TUTTI_EXPORT void futex_wake_all(const std::atomic<std::uint32_t>& word) noexcept;
/// Wakes one of them, the one that has slept longest among those of the same priority.
TUTTI_EXPORT void futex_wake_one(const std::atomic<std::uint32_t>& word) noexcept;

/// One turn of a spinning loop: 5 ns to some tens, by the processor.
inline void spin_turn() noexcept {
#if defined(TUTTI_INTERLEAVE)
    detail::interleaving_spin();
#elif defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("isb" ::: "memory");
#else
    std::atomic_signal_fence(std::memory_order_seq_cst);
#endif
}

#if defined(TUTTI_INTERLEAVE)
// The scheduler lets a spinner's obstacle go on, and would hide what a sleep shows.
inline constexpr int spin_turns = 0;
inline constexpr std::uint64_t spin_ticks = 0;
inline constexpr std::uint64_t asking_ticks = 0;
inline constexpr std::chrono::microseconds unfenced_nap{0};
/// A sleep with a deadline may end at any time there, and would hide a wake-up that is lost.
inline std::optional<deadline> nap_until(std::optional<deadline> late) noexcept { return late; }
#else
/// How often to look before yielding: 0.3 us where a turn takes 5 ns.
inline constexpr int spin_turns = 64;
/// For how long to look before sleeping: 4 us at 2.5 GHz, about what a sleep costs with the fence before it and the
/// wake-up.
inline constexpr std::uint64_t spin_ticks = 10'000;
/// For how long to wait for short transactions before they are disturbed: 2 us at 2.5 GHz.
inline constexpr std::uint64_t asking_ticks = 5'000;
/// For how long to sleep at first, without the heavy fence that makes sure of the wake-up: that interrupts the very
/// thread that is waited for. The wake-up is lost only if the thread passes within some nanoseconds, and then costs
/// this much.
inline constexpr std::chrono::microseconds unfenced_nap{100};
/// Until when to sleep at once, of a wait that ends at `late`: no wake-up tells a sleeper that it was killed or
/// interrupted while it waits for another, so it looks by itself.
inline std::optional<deadline> nap_until(std::optional<deadline> late) noexcept {
    const deadline soon = real_now() + std::chrono::milliseconds{20};
    return late && *late < soon ? *late : soon;
}
#endif

}  // namespace tutti::base
