// An atomic whose accesses the deterministic scheduler of the tests can see.
//
// Every word that two transactions may access at the same time is a `shared<T>`. Each access names its memory order.
// Under TUTTI_INTERLEAVE (the interleaving build), the scheduler may switch to another thread before each access. In
// every other build, `shared<T>` is just a std::atomic.
//
// (The library with faults of tests/mutations runs hardware transactions in software (src/hardware/software_htm.hpp).
// There, an access waits until no such transaction is committing, because a processor would make that commit in one
// step.)
#pragma once

#include <atomic>
#include <cstdint>

#include "tutti/detail/config.hpp"

namespace tutti::detail {

#if defined(TUTTI_INTERLEAVE)
/// Lets another transaction run here. The interleaving scheduler defines this function.
void interleaving_point() noexcept;
struct interleaving_lock {
    interleaving_lock() noexcept { interleaving_point(); }
};
#elif defined(TUTTI_FAULTS)
/// While an object lives, no commit of another thread's hardware transaction takes effect.
class interleaving_lock {
public:
    interleaving_lock() noexcept;
    ~interleaving_lock();
    interleaving_lock(const interleaving_lock&) = delete;
    interleaving_lock& operator=(const interleaving_lock&) = delete;

private:
    bool holds_;
};
inline void interleaving_point() noexcept { const interleaving_lock after_those_under_way; }
#else
TUTTI_ALWAYS_INLINE void interleaving_point() noexcept {}
struct interleaving_lock {};
#endif

template <class T>
class shared {
public:
    constexpr shared() noexcept = default;
    constexpr explicit shared(T initial) noexcept : value_{initial} {}

    [[nodiscard]] TUTTI_ALWAYS_INLINE T load(std::memory_order order) const noexcept {
        [[maybe_unused]] const interleaving_lock turn;
        return value_.load(order);
    }
    TUTTI_ALWAYS_INLINE void store(T desired, std::memory_order order) noexcept {
        [[maybe_unused]] const interleaving_lock turn;
        value_.store(desired, order);
    }
    TUTTI_ALWAYS_INLINE T exchange(T desired, std::memory_order order) noexcept {
        [[maybe_unused]] const interleaving_lock turn;
        return value_.exchange(desired, order);
    }
    /// On failure, stores the present value in `expected`.
    TUTTI_ALWAYS_INLINE bool compare_exchange(T& expected, T desired, std::memory_order success) noexcept {
        [[maybe_unused]] const interleaving_lock turn;
        return value_.compare_exchange_strong(expected, desired, success, std::memory_order_acquire);
    }
    TUTTI_ALWAYS_INLINE T fetch_add(T operand, std::memory_order order) noexcept {
        [[maybe_unused]] const interleaving_lock turn;
        return value_.fetch_add(operand, order);
    }
    TUTTI_ALWAYS_INLINE T fetch_or(T operand, std::memory_order order) noexcept {
        [[maybe_unused]] const interleaving_lock turn;
        return value_.fetch_or(operand, order);
    }
    TUTTI_ALWAYS_INLINE T fetch_and(T operand, std::memory_order order) noexcept {
        [[maybe_unused]] const interleaving_lock turn;
        return value_.fetch_and(operand, order);
    }

    /// Initializes memory that no other thread can reach yet. The scheduler never switches here.
    TUTTI_ALWAYS_INLINE void reset(T value) noexcept { value_.store(value, std::memory_order_relaxed); }
    /// Returns the word itself, for futex waits.
    [[nodiscard]] const std::atomic<T>& raw() const noexcept { return value_; }

private:
    std::atomic<T> value_{};
};

}  // namespace tutti::detail
