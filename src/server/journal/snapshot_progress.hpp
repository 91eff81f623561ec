// The figures on snapshots that INFO and Prometheus show.
//
// Thread safety: one thread at a time begins and ends snapshots. Any thread may call statistics().
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace tutti::server::journal {

/// Durations and bytes are those of the latest snapshot that succeeded or failed.
struct snapshot_statistics {
    std::uint64_t stored = 0, failed = 0;
    bool in_progress = false;
    std::chrono::microseconds duration{};   ///< of the snapshot in progress so far, if there is one
    std::chrono::microseconds pause{};      ///< time in which no call could run
    std::chrono::microseconds max_pause{};  ///< longest pause of all snapshots
    std::uint64_t bytes = 0;                ///< bytes of the snapshot's parts
    std::uint64_t copied_bytes = 0;         ///< memory that the writing process did not share with the server
    std::string failure{};                  ///< why the latest snapshot failed; empty: it succeeded
};

class snapshot_progress {
public:
    void begin() {
        const std::scoped_lock lock{mutex_};
        began_ = clock::now();
    }
    void record_pause(std::chrono::microseconds pause) {
        const std::scoped_lock lock{mutex_};
        statistics_.pause = pause;
        statistics_.max_pause = std::max(statistics_.max_pause, pause);
    }
    /// Records the end of a snapshot. `failure`: why the snapshot failed; empty: it succeeded.
    void end(std::uint64_t bytes, std::uint64_t copied_bytes, std::string failure) {
        const std::scoped_lock lock{mutex_};
        statistics_.duration = since_begin();
        began_.reset();
        statistics_.bytes = bytes;
        statistics_.copied_bytes = copied_bytes;
        ++(failure.empty() ? statistics_.stored : statistics_.failed);
        statistics_.failure = std::move(failure);
    }
    /// Records that the server abandoned the snapshot because of its shutdown.
    void abandon() {
        const std::scoped_lock lock{mutex_};
        began_.reset();
    }
    [[nodiscard]] snapshot_statistics statistics() const {
        const std::scoped_lock lock{mutex_};
        snapshot_statistics f = statistics_;
        f.in_progress = began_.has_value();
        if (f.in_progress) f.duration = since_begin();
        return f;
    }

private:
    using clock = std::chrono::steady_clock;
    /// REQUIRES: a snapshot has begun.
    [[nodiscard]] std::chrono::microseconds since_begin() const {
        return std::chrono::duration_cast<std::chrono::microseconds>(clock::now() - *began_);
    }

    mutable std::mutex mutex_;
    snapshot_statistics statistics_;
    std::optional<clock::time_point> began_;
};

}  // namespace tutti::server::journal
