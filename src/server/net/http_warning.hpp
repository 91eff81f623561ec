// Warns the operator that a client sent HTTP, at most once a minute in total.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "tutti/server/settings.hpp"

namespace tutti::server {

/// Thread safety: any thread.
class http_warning {
public:
    using clock = std::chrono::steady_clock;
    static constexpr std::chrono::seconds line_period{60};

    /// Counts a client at `address`. Calls `log` unless the latest call of `log` was less than a minute before `now`.
    void record(const std::string& address, clock::time_point now,
                const std::function<void(severity, const std::string&)>& log) {
        const std::uint64_t all = seen_.fetch_add(1, std::memory_order_relaxed) + 1;
        // Several threads may find that the minute is over. The exchange succeeds in exactly one of them, which calls
        // `log`.
        clock::rep next = next_line_.load(std::memory_order_relaxed);
        const clock::rep at = now.time_since_epoch().count();
        const clock::rep then = (now + line_period).time_since_epoch().count();
        if (at < next || !next_line_.compare_exchange_strong(next, then, std::memory_order_relaxed)) return;
        log(severity::warning, "possible attack from a web page: the client " + address +
                                   " sent HTTP, and its connection was closed before anything of it was run (" +
                                   std::to_string(all) + " in all)");
    }

private:
    std::atomic<std::uint64_t> seen_{0};
    std::atomic<clock::rep> next_line_{clock::time_point::min().time_since_epoch().count()};
};

}  // namespace tutti::server
