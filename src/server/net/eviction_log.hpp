// Tells operators which clients the server closed to protect other clients, and why. Writes at most one line a second,
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
#include "tutti/server/service.hpp"

namespace tutti::server {

class eviction_log {
public:
    using teller = std::function<void(severity, const std::string&)>;

    /// Records `line`, and passes it to `tell` unless that was done less than a second before `now`.
    /// @throws std::bad_alloc
    void note(const std::string& line, instant now, const teller& tell) {
        std::string told;
        {
            const std::scoped_lock lock{mutex_};
            latest_ = line;
            if (now < next_) {
                ++untold_;
                return;
            }
            next_ = now + period;
            told = line;
            if (untold_ != 0) told += " (and " + std::to_string(std::exchange(untold_, 0)) + " more before)";
        }
        if (tell) tell(severity::warning, told);
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
    std::size_t untold_ = 0;
};

}  // namespace tutti::server
