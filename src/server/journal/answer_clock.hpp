// The time by which answers of calls with an ID are remembered.
//
// The system's clock may be set. Were it set forward, answers would be forgotten too soon, and a call that is asked
// again would run twice. So this clock goes on with the monotonic one while the server runs, from the latest time that
// is in the log. It stands still while no server runs, and then an answer is only remembered for longer.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace tutti::server::journal {

/// Thread-safe.
class answer_clock {
public:
    /// Begins at the time of day, which logs of earlier versions have.
    answer_clock() noexcept : ahead_{since_epoch<std::chrono::system_clock>() - monotonic()} {}
    /// Goes on from there: the time of the latest answer in the log, or that a leader has sent.
    void begin_at(std::int64_t time) noexcept { ahead_.store(time - monotonic(), std::memory_order_relaxed); }
    /// Microseconds.
    [[nodiscard]] std::int64_t now() const noexcept { return monotonic() + ahead_.load(std::memory_order_relaxed); }

private:
    template <class Clock>
    static std::int64_t since_epoch() noexcept {
        return std::chrono::duration_cast<std::chrono::microseconds>(Clock::now().time_since_epoch()).count();
    }
    static std::int64_t monotonic() noexcept { return since_epoch<std::chrono::steady_clock>(); }

    std::atomic<std::int64_t> ahead_;  // of the monotonic clock
};

}  // namespace tutti::server::journal
