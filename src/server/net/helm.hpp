// The helm is the right to do an I/O thread's part. The thread itself has it, or an idle worker that takes the thread's
// place. With a worker at the helm, one thread reads, runs and answers a call, so no thread has to be woken
// (leader/followers: Schmidt, Stal, Rohnert, Buschmann, "Pattern-Oriented Software Architecture 2", 2000). The thread
// checks for a helm that stays abandoned, like Go's scheduler checks its processors (`sysmon`).
//
//   thread -> nobody -> worker -> nobody -> worker ...
//     ^         |          |
//     +---------+----------+
//
//   thread   the thread does its part, as usual
//   nobody   a worker has left to run the calls that it has read. Any idle worker may take the helm. The thread checks
//            periodically and takes the helm if it stayed free for a period, so a long call does not delay clients
//   worker   a worker does the thread's part
//
// H1  Only the holder of the helm touches the data that the I/O thread owns. Taking the helm acquires what the
//     previous holder has released.
// H2  If the helm is free, the thread takes it within two periods, whatever workers do.
//
// Thread safety: each function states which thread may call it.
#pragma once

#include <chrono>
#include <cstdint>

#include "tutti/detail/shared.hpp"

namespace tutti::server {

class helm {
public:
    static constexpr std::chrono::microseconds period{500};
    /// The number of checks that find the same worker at the helm, waiting for clients, before the thread sleeps until
    /// the worker leaves.
    static constexpr unsigned usual_looks = 100;

    explicit helm(unsigned looks_before_sleep = usual_looks) noexcept : looks_before_sleep_{looks_before_sleep} {}

    /// How the thread got the helm back.
    enum class taken : std::uint8_t {
        handed_over,  ///< the worker that had it handed it over
        deserted      ///< no worker had it for a period
    };

    /// Offers the helm to idle workers. Called by the thread, which holds the helm and must call stand_by() next.
    void offer() noexcept { pass_on(holder::nobody); }
    /// Returns when the thread has the helm again. Called by the thread, after offer().
    taken stand_by() noexcept;
    /// Returns true if the thread sleeps until a worker leaves or hands over the helm. Any thread may call it.
    [[nodiscard]] bool is_asleep() const noexcept { return sleeps_.load(std::memory_order_relaxed); }

    /// Tries to take the helm for a worker. Returns true if the worker has it now.
    [[nodiscard]] bool take() noexcept;
    /// Gives up the helm. Called by the worker that has it, which, or another worker, comes back soon.
    void leave() noexcept;
    /// Returns the helm to the thread. Called by the worker that has it.
    void hand_over() noexcept;

private:
    enum class holder : std::uint32_t { thread, nobody, worker };
    static constexpr std::uint32_t holders = 4;  // amount by which each change increases the counter

    static holder holder_of(std::uint32_t state) noexcept { return static_cast<holder>(state % holders); }
    static std::uint32_t changed(std::uint32_t state, holder to) noexcept {
        return state - state % holders + holders + static_cast<std::uint32_t>(to);
    }
    void pass_on(holder to) noexcept;
    void wake() noexcept;

    template <class T>
    using shared = tutti::detail::shared<T>;

    const unsigned looks_before_sleep_;
    // the holder, and above it the number of times that the helm has changed hands
    alignas(64) shared<std::uint32_t> state_{0};
    shared<bool> sleeps_{false};  // the thread does not check by itself, because a worker has kept the helm for long
    shared<std::uint32_t> calls_{0};  // wake-ups of the thread, which sleeps on this word
};

}  // namespace tutti::server
