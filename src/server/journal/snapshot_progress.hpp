// The figures on snapshots that INFO and Prometheus show.
//
// Thread safety: one thread at a time begins and ends snapshots. Any thread may call look().
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
struct snapshot_figures {
    std::uint64_t kept = 0, failed = 0;
    bool in_progress = false;
    std::chrono::microseconds duration{};       ///< of the one in progress so far, if one is in progress
    std::chrono::microseconds pause{};          ///< time in which no call could run
    std::chrono::microseconds longest_pause{};  ///< longest pause of all snapshots
    std::uint64_t bytes = 0;                    ///< bytes of its parts
    std::uint64_t copied_bytes = 0;             ///< memory that the writing process had to itself
    std::string failure{};                      ///< why the latest one failed; empty: it succeeded
};

class snapshot_progress {
public:
    void begin() {
        const std::scoped_lock lock{mutex_};
        began_ = clock::now();
    }
    void note_pause(std::chrono::microseconds pause) {
        const std::scoped_lock lock{mutex_};
        now_.pause = pause;
        now_.longest_pause = std::max(now_.longest_pause, pause);
    }
    /// Records the end of a snapshot. `failure`: why the snapshot failed; empty: it succeeded.
    void end(std::uint64_t bytes, std::uint64_t copied_bytes, std::string failure) {
        const std::scoped_lock lock{mutex_};
        now_.duration = since_begin();
        began_.reset();
        now_.bytes = bytes;
        now_.copied_bytes = copied_bytes;
        ++(failure.empty() ? now_.kept : now_.failed);
        now_.failure = std::move(failure);
    }
    /// Records that the server gave up the snapshot because the server ends.
    void give_up() {
        const std::scoped_lock lock{mutex_};
        began_.reset();
    }
    [[nodiscard]] snapshot_figures look() const {
        const std::scoped_lock lock{mutex_};
        snapshot_figures f = now_;
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
    snapshot_figures now_;
    std::optional<clock::time_point> began_;
};

}  // namespace tutti::server::journal
