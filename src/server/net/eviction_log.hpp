// Logs which clients the server closed to protect other clients, and why. Writes at most one line a second,
// and keeps the latest line for INFO.
//
// Thread safety: any thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <mutex>
#include <string>
#include <utility>

#include "server/calls/executor.hpp"
#include "tutti/server/settings.hpp"

namespace tutti::server {

class eviction_log {
public:
    using log_function = std::function<void(severity, const std::string&)>;

    /// Records `line`, and passes it to `log` unless another line was passed less than a second before `now`.
    /// @throws std::bad_alloc
    void record(const std::string& line, instant now, const log_function& log) {
        std::string logged;
        {
            const std::scoped_lock lock{mutex_};
            latest_ = line;
            if (now < next_) {
                ++suppressed_;
                return;
            }
            next_ = now + period;
            logged = line;
            if (suppressed_ != 0) logged += " (and " + std::to_string(std::exchange(suppressed_, 0)) + " more before)";
        }
        if (log) log(severity::warning, logged);
    }
    [[nodiscard]] std::string latest() const {
        const std::scoped_lock lock{mutex_};
        return latest_;
    }

private:
    static constexpr std::chrono::seconds period{1};

    mutable std::mutex mutex_;
    std::string latest_;
    instant next_ = instant::min();
    std::size_t suppressed_ = 0;
};

}  // namespace tutti::server
