// Who does an I/O thread's part: the thread itself, or a worker that has nothing to run and takes its place, so that a
// call is read, run and answered by one thread and nobody has to be woken (leader/followers: Schmidt, Stal, Rohnert,
// Buschmann, "Pattern-Oriented Software Architecture 2", 2000; the watch over who has left it for long is that of Go's
// scheduler over its processors, `sysmon`).
//
//   thread -> nobody -> worker -> nobody -> worker ...
//     ^         |          |
//     +---------+----------+
//
//   thread   it does its part, as ever
//   nobody   a worker has left to run what it has read; any idle worker may take the helm. The thread looks now and
//            then, and takes it when nobody else has for a period, so a call that lasts keeps nobody's clients waiting
//   worker   a worker does the thread's part
//
// H1  Whoever has the helm, and nobody else, touches what the I/O thread owns. To take it acquires what the one before
//     has released.
// H2  While nobody has it, the thread takes it within two periods, whatever workers do.
//
// Thread safety: each function says whose it is.
#pragma once

#include <chrono>
#include <cstdint>

#include "tutti/detail/shared.hpp"

namespace tutti::server {

class helm {
public:
    static constexpr std::chrono::microseconds period{500};
    /// So many looks that find the same worker at the helm, which waits for clients, and the thread sleeps until it
    /// leaves.
    static constexpr unsigned usual_looks = 100;

    explicit helm(unsigned looks_before_sleep = usual_looks) noexcept : looks_before_sleep_{looks_before_sleep} {}

    /// How the thread got it back.
    enum class taken : std::uint8_t {
        handed_over,  ///< by the worker that had it
        deserted      ///< nobody had come back to it for a period
    };

    /// By the thread, which has it: any idle worker may take it. stand_by() has to follow.
    void offer() noexcept { pass_on(holder::nobody); }
    /// By the thread, after offer(); returns when it has it again.
    taken stand_by() noexcept;
    /// Whether the thread sleeps until a worker leaves or hands over. Any thread.
    [[nodiscard]] bool is_asleep() const noexcept { return sleeps_.load(std::memory_order_relaxed); }

    /// By a worker: whether it has it now.
    [[nodiscard]] bool take() noexcept;
    /// By the worker that has it, which comes back soon, or another in its place.
    void leave() noexcept;
    /// By the worker that has it: the thread goes on.
    void hand_over() noexcept;

private:
    enum class holder : std::uint32_t { thread, nobody, worker };
    static constexpr std::uint32_t holders = 4;  // so much a change counts

    static holder holder_of(std::uint32_t state) noexcept { return static_cast<holder>(state % holders); }
    static std::uint32_t changed(std::uint32_t state, holder to) noexcept {
        return state - state % holders + holders + static_cast<std::uint32_t>(to);
    }
    void pass_on(holder to) noexcept;
    void wake() noexcept;

    template <class T>
    using shared = tutti::detail::shared<T>;

    const unsigned looks_before_sleep_;
    alignas(64) shared<std::uint32_t> state_{0};  // the holder, and above that how often the helm has changed hands
    shared<bool> sleeps_{false};                  // the thread does not look by itself: a worker's part lasts
    shared<std::uint32_t> calls_{0};              // of the thread; what it sleeps on
};

}  // namespace tutti::server
