// Sleeping on a word, and spinning before that. The runtime blocks threads only by these functions.
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

/// Sleeps while `word` is `expected`, until another thread wakes the caller or the deadline passes. May return early,
/// so callers check their condition in a loop.
TUTTI_EXPORT void futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t expected,
                                    std::optional<deadline> until = std::nullopt) noexcept;

/// Sleeps as futex_wait does, and is a cancellation point (pthreads(7)): a cancelled thread may leave this function by
/// a forced unwind.
void futex_wait_cancellably(const std::atomic<std::uint32_t>& word, std::uint32_t expected,
                            std::optional<deadline> until = std::nullopt);

/// Wakes all threads that sleep on `word`.
TUTTI_EXPORT void futex_wake_all(const std::atomic<std::uint32_t>& word) noexcept;
/// Wakes one of the threads that sleep on `word`. Of threads with the same priority, wakes the one that has slept
/// longest.
TUTTI_EXPORT void futex_wake_one(const std::atomic<std::uint32_t>& word) noexcept;

/// Spends one turn of a spinning loop: from 5 ns to some tens of ns, depending on the processor.
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
// An exploration does not spin: the scheduler would run the thread that the spinner waits for, and the spin would hide
// the effects of a sleep.
inline constexpr int spin_turns = 0;
inline constexpr std::uint64_t spin_ticks = 0;
inline constexpr std::uint64_t undisturbed_wait_ticks = 0;
inline constexpr std::chrono::microseconds unfenced_sleep{0};
/// Returns `wait_deadline`, without a deadline for a recheck: in an exploration, a sleep with a deadline may end at any
/// time, so a lost wake-up would stay hidden.
inline std::optional<deadline> recheck_deadline(std::optional<deadline> wait_deadline) noexcept {
    return wait_deadline;
}
#else
/// How often to check the word before yielding: 0.3 us if a turn takes 5 ns.
inline constexpr int spin_turns = 64;
/// How long to spin before sleeping: 4 us at 2.5 GHz. A sleep costs about as much, including the heavy fence before the
/// sleep and the wake-up after it.
inline constexpr std::uint64_t spin_ticks = 10'000;
/// How long to wait for short transactions before they are disturbed: 2 us at 2.5 GHz.
inline constexpr std::uint64_t undisturbed_wait_ticks = 5'000;
/// The length of the first sleep. A sleep needs a heavy fence to guarantee its wake-up, but the fence interrupts the
/// very thread that the sleeper waits for. So the first sleep omits the fence. The wake-up is lost only if that thread
/// checks for sleepers in the nanoseconds in which the sleeper announces itself. In that case, the sleep lasts for the
/// whole time `unfenced_sleep`.
inline constexpr std::chrono::microseconds unfenced_sleep{100};
/// Returns the end of the next single sleep, in a wait that ends at `wait_deadline`. A kill or an interruption does not
/// wake a transaction that sleeps until another transaction ends. So the sleeper has to wake now and then, and check
/// whether it was killed or interrupted.
inline std::optional<deadline> recheck_deadline(std::optional<deadline> wait_deadline) noexcept {
    const deadline recheck_at = real_now() + std::chrono::milliseconds{20};
    return wait_deadline && *wait_deadline < recheck_at ? *wait_deadline : recheck_at;
}
#endif

}  // namespace tutti::base
