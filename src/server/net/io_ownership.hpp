// The I/O ownership is the right to do an I/O thread's part. The thread itself has it, or an idle worker that takes the thread's
// place. With a worker in I/O ownership, one thread reads, runs and answers a call, so no thread has to be woken
// (leader/followers: Schmidt, Stal, Rohnert, Buschmann, "Pattern-Oriented Software Architecture 2", 2000). The thread
// checks for a helm that stays abandoned, like Go's scheduler checks its processors (`sysmon`).
//
//   thread -> nobody -> worker -> nobody -> worker ...
//     ^         |          |
//     +---------+----------+
//
//   thread   the thread does its part, as usual
//   nobody   a worker has left to run the calls that it has read. Any idle worker may take the I/O ownership. The thread checks
//            periodically and takes the I/O ownership if it stayed free for a period, so a long call does not delay clients
//   worker   a worker does the thread's part
//
// IOW1  Only the owner touches the data that the I/O thread owns. Taking the I/O ownership acquires what the
//     previous holder has released.
// IOW2  If the I/O ownership is free, the thread takes it within two periods, whatever workers do.
//
// Thread safety: each function states which thread may call it.
#pragma once

#include <chrono>
#include <cstdint>

#include "tutti/detail/shared.hpp"

namespace tutti::server {

class io_ownership {
public:
    static constexpr std::chrono::microseconds period{500};
    /// The number of checks that find the same worker in I/O ownership, waiting for clients, before the thread sleeps until
    /// the worker leaves.
    static constexpr unsigned default_checks = 100;

    explicit io_ownership(unsigned checks_before_sleep = default_checks) noexcept
        : checks_before_sleep_{checks_before_sleep} {}

    /// How the thread got the I/O ownership back.
    enum class regained : std::uint8_t {
        handed_over,  ///< the worker that had it handed it over
        reclaimed     ///< no worker had it for a period
    };

    /// Offers the I/O ownership to idle workers. Called by the thread, which holds the I/O ownership and must call wait_for_ownership() next.
    void offer() noexcept { transfer(owner::nobody); }
    /// Returns when the thread has the I/O ownership again. Called by the thread, after offer().
    regained wait_for_ownership() noexcept;
    /// Returns true if the thread sleeps until a worker leaves or hands over the I/O ownership. Any thread may call it.
    [[nodiscard]] bool is_thread_asleep() const noexcept { return thread_sleeps_.load(std::memory_order_relaxed); }

    /// Tries to take the I/O ownership for a worker. Returns true if the worker has it now.
    [[nodiscard]] bool try_acquire() noexcept;
    /// Gives up the I/O ownership. Called by the worker that has it, which, or another worker, comes back soon.
    void release() noexcept;
    /// Returns the I/O ownership to the thread. Called by the worker that has it.
    void return_to_thread() noexcept;

private:
    enum class owner : std::uint32_t { thread, nobody, worker };
    static constexpr std::uint32_t change_step = 4;  // amount by which each change increases the counter

    static owner owner_of(std::uint32_t state) noexcept { return static_cast<owner>(state % change_step); }
    static std::uint32_t with_owner(std::uint32_t state, owner to) noexcept {
        return state - state % change_step + change_step + static_cast<std::uint32_t>(to);
    }
    void transfer(owner to) noexcept;
    void wake() noexcept;

    template <class T>
    using shared = tutti::detail::shared<T>;

    const unsigned checks_before_sleep_;
    // the holder, and above it the number of times that the I/O ownership has changed hands
    alignas(64) shared<std::uint32_t> state_{0};
    shared<bool> thread_sleeps_{
        false};  // the thread does not check by itself, because a worker has kept the I/O ownership for long
    shared<std::uint32_t> wakeups_{0};  // wake-ups of the thread, which sleeps on this word
};

}  // namespace tutti::server
