// A small mutex for rare paths of the runtime: one word with three states, on a futex. Unlike std::mutex, this mutex is
// visible to the interleaving scheduler. It is mutex 2 of Drepper, "Futexes Are Tricky".
#pragma once

#include "base/futex.hpp"
#include "base/tsan.hpp"
#include "tutti/detail/shared.hpp"

namespace tutti::base {

class lock {
public:
    constexpr lock() noexcept = default;
    lock(const lock&) = delete;
    lock& operator=(const lock&) = delete;

    void acquire() noexcept {
        if (!try_lock()) acquire_slowly(std::nullopt);
    }
    /// Acquires the lock. Returns false if the lock was not free before `until`.
    [[nodiscard]] bool acquire(std::optional<deadline> until) noexcept { return try_lock() || acquire_slowly(until); }
    /// Returns true if the lock seems free. A caller checks this before it tries again, because a load does not slow
    /// down the holder as a try does.
    [[nodiscard]] bool looks_free() const noexcept { return state_.load(std::memory_order_relaxed) == free; }
    bool try_lock() noexcept {
        std::uint32_t expected = free;
        if (!state_.compare_exchange(expected, held, std::memory_order_acquire)) return false;
        tsan_acquire(this);
        return true;
    }
    void unlock() noexcept {
        tsan_release(this);
        // Waking one thread is enough: it acquires the lock as `contended`, so its own unlock wakes the next.
        if (state_.exchange(free, std::memory_order_release) == contended) futex_wake_one(state_.raw());
    }
    /// Frees the lock in the child of a fork, because the lock's holder does not exist there. REQUIRES: no other thread
    /// exists.
    void reset_in_fork_child() noexcept { state_.store(free, std::memory_order_relaxed); }

private:
    bool acquire_slowly(std::optional<deadline> until) noexcept {
        while (state_.exchange(contended, std::memory_order_acquire) != free) {
            if (until && now() >= *until) return false;  // the next unlock then makes a superfluous wake-up
            futex_wait(state_.raw(), contended, until);
        }
        tsan_acquire(this);
        return true;
    }

    static constexpr std::uint32_t free = 0, held = 1, contended = 2;
    detail::shared<std::uint32_t> state_{free};
};

class lock_guard {
public:
    explicit lock_guard(lock& l) noexcept : lock_{l} { lock_.acquire(); }
    ~lock_guard() { lock_.unlock(); }
    lock_guard(const lock_guard&) = delete;
    lock_guard& operator=(const lock_guard&) = delete;

private:
    lock& lock_;
};

}  // namespace tutti::base
