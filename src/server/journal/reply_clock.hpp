// The clock by which the server decides how long to keep answers of calls with an ID.
//
// The system's clock is unsuitable: if an administrator set that clock forward, the server would forget answers too
// soon. A repeated call would then run twice. So `reply_clock` starts from the latest time in the log, and advances
// with the monotonic clock while the server runs. It does not advance while the server is down, so an answer may be
// stored for longer, but never for a shorter time.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace tutti::server::journal {

/// Thread-safe.
class reply_clock {
public:
    /// Starts at the time of day, because logs of earlier versions contain times of day.
    reply_clock() noexcept : offset_{since_epoch<std::chrono::system_clock>() - monotonic()} {}
    /// Continues from `time`: the time of the latest answer in the log, or of the latest answer that the leader has
    /// sent.
    void continue_from(std::int64_t time) noexcept { offset_.store(time - monotonic(), std::memory_order_relaxed); }
    /// Returns the current time in microseconds.
    [[nodiscard]] std::int64_t now() const noexcept { return monotonic() + offset_.load(std::memory_order_relaxed); }

private:
    template <class Clock>
    static std::int64_t since_epoch() noexcept {
        return std::chrono::duration_cast<std::chrono::microseconds>(Clock::now().time_since_epoch()).count();
    }
    static std::int64_t monotonic() noexcept { return since_epoch<std::chrono::steady_clock>(); }

    std::atomic<std::int64_t> offset_;  // microseconds ahead of the monotonic clock
};

}  // namespace tutti::server::journal
