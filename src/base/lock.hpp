// A small mutex for the runtime's rare paths: two words of state machine on a futex, visible to the interleaving
// scheduler, which std::mutex is not. Drepper, "Futexes Are Tricky", mutex 2.
#pragma once

#include "base/futex.hpp"
#include "tutti/detail/shared.hpp"

namespace tutti::base {

class lock {
public:
    constexpr lock() noexcept = default;
    lock(const lock&) = delete;
    lock& operator=(const lock&) = delete;

    void lock_slow() noexcept {
        while (state_.exchange(contended, std::memory_order_acquire) != free) futex_wait(state_.raw(), contended);
    }
    bool try_lock() noexcept {
        std::uint32_t expected = free;
        return state_.compare_exchange(expected, held, std::memory_order_acquire);
    }
    void unlock() noexcept {
        if (state_.exchange(free, std::memory_order_release) == contended) futex_wake_all(state_.raw());
    }

private:
    static constexpr std::uint32_t free = 0, held = 1, contended = 2;
    detail::shared<std::uint32_t> state_{free};
};

class lock_guard {
public:
    explicit lock_guard(lock& l) noexcept : lock_{l} {
        if (!lock_.try_lock()) lock_.lock_slow();
    }
    ~lock_guard() { lock_.unlock(); }
    lock_guard(const lock_guard&) = delete;
    lock_guard& operator=(const lock_guard&) = delete;

private:
    lock& lock_;
};

}  // namespace tutti::base
