// The I/O ownership of an I/O thread is the right to serve the thread's connections. Either the thread itself owns its
// I/O, or an idle worker serves the connections in its place. While a worker owns the I/O, one thread reads, runs and
// answers a call, so no thread has to be woken (leader/followers: Schmidt, Stal, Rohnert, Buschmann, "Pattern-Oriented
// Software Architecture 2", 2000). The thread reclaims the ownership if no worker acquires it for a period, like Go's
// scheduler retakes its processors (`sysmon`).
//
//   thread -> free -> worker -> free -> worker ...
//     ^        |         |
//     +--------+---------+
//
//   thread   the thread serves its connections, as usual
//   free     a worker has left to run the calls that it has read. Any idle worker may acquire the ownership. The thread
//            checks periodically and reclaims the ownership if it stayed free for a period. So a long call does not
//            delay clients
//   worker   a worker serves the thread's connections
//
// IOW1  Only the owner touches the data that the I/O thread owns. A new owner sees everything that the previous owner
//       wrote: acquiring the ownership is an acquire, and giving it up a release.
// IOW2  If the ownership stays free, the thread reclaims it within two periods, even if all workers are busy.
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
    /// After this many consecutive checks that find the ownership unchanged, the thread sleeps until the owning worker
    /// releases or returns the ownership.
    static constexpr unsigned default_checks = 100;

    explicit io_ownership(unsigned checks_before_sleep = default_checks) noexcept
        : checks_before_sleep_{checks_before_sleep} {}

    /// How the thread regained the I/O ownership.
    enum class regained : std::uint8_t {
        handed_over,  ///< the owning worker returned it
        reclaimed     ///< no worker owned it for a period
    };

    /// Offers the ownership to idle workers. Only the I/O thread calls this function, while it owns the I/O. The thread
    /// must call wait_for_ownership() next.
    void offer() noexcept { transfer(owner::free); }
    /// Blocks until the thread has the ownership again. Called by the thread, after offer().
    regained wait_for_ownership() noexcept;
    /// Returns true if the thread sleeps until a worker releases or returns the ownership. Any thread may call it.
    [[nodiscard]] bool is_thread_asleep() const noexcept { return thread_sleeps_.load(std::memory_order_relaxed); }

    /// Tries to acquire the ownership for a worker. Returns true if the worker has it now.
    [[nodiscard]] bool try_acquire() noexcept;
    /// Releases the ownership. Called by the owning worker, if this worker or another worker will soon acquire the
    /// ownership.
    void release() noexcept;
    /// Returns the ownership to the thread. Called by the owning worker.
    void return_to_thread() noexcept;

private:
    enum class owner : std::uint32_t { thread, free, worker };
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
    // the owner, and above it the number of changes of the owner
    alignas(64) shared<std::uint32_t> state_{0};
    // the thread sleeps without periodic checks, because a worker has owned the I/O for long
    shared<bool> thread_sleeps_{false};
    shared<std::uint32_t> wakeups_{0};  // wake-ups of the thread, which sleeps on this word
};

}  // namespace tutti::server
