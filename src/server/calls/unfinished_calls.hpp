// The log messages about calls that delay the shutdown of a server. The thread that owns the calls publishes the lines.
//
// Thread safety: any thread.
#pragma once

#include <cstddef>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "server/calls/timed_call.hpp"

namespace tutti::server {

class unfinished_calls {
public:
    /// Maximum number of calls of one owner that are listed. The other calls are only counted.
    static constexpr std::size_t max_named = 20;

    void publish(std::vector<std::string> lines) {
        const std::scoped_lock lock{mutex_};
        lines_ = std::move(lines);
    }
    void add_to(std::vector<std::string>& all) const {
        const std::scoped_lock lock{mutex_};
        all.insert(all.end(), lines_.begin(), lines_.end());
    }

private:
    mutable std::mutex mutex_;
    std::vector<std::string> lines_;
};

/// Returns a line about a call in progress: its procedure, its caller, and how long the caller has waited.
[[nodiscard]] inline std::string describe_unfinished(const timed_call& c, const std::string& caller, instant now) {
    const auto milliseconds_of = [](std::chrono::nanoseconds time) {
        return std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(time).count()) + " ms";
    };
    const std::chrono::nanoseconds runs = c.clock.elapsed(now);
    return "procedure '" + std::string{c.name} + "', priority " + std::to_string(c.priority) + ", called by " + caller +
           " " + milliseconds_of(now - c.arrived) + " ago, " +
           (runs.count() == 0 ? std::string{"has not begun"} : "has run for " + milliseconds_of(runs));
}

}  // namespace tutti::server
