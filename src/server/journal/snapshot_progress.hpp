// What INFO and Prometheus show of snapshots.
//
// Thread safety: one thread at a time begins and ends snapshots; any thread looks.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace tutti::server::journal {

/// Durations and bytes are of the latest snapshot that was kept or failed.
struct snapshot_figures {
    std::uint64_t kept = 0, failed = 0;
    bool in_progress = false;
    std::chrono::microseconds duration{};       ///< of the one in progress so far, if there is one
    std::chrono::microseconds pause{};          ///< for which no call ran
    std::chrono::microseconds longest_pause{};  ///< of all
    std::uint64_t bytes = 0;                    ///< of its parts
    std::uint64_t copied_bytes = 0;             ///< memory that the process which wrote it had to itself
    std::string failure{};                      ///< why the latest one was not kept; empty: it was
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
    /// `failure`: why it was not kept; empty: it was.
    void end(std::uint64_t bytes, std::uint64_t copied_bytes, std::string failure) {
        const std::scoped_lock lock{mutex_};
        now_.duration = since_begin();
        began_.reset();
        now_.bytes = bytes;
        now_.copied_bytes = copied_bytes;
        ++(failure.empty() ? now_.kept : now_.failed);
        now_.failure = std::move(failure);
    }
    /// It was given up because the server ends.
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
    /// REQUIRES: one has begun.
    [[nodiscard]] std::chrono::microseconds since_begin() const {
        return std::chrono::duration_cast<std::chrono::microseconds>(clock::now() - *began_);
    }

    mutable std::mutex mutex_;
    snapshot_figures now_;
    std::optional<clock::time_point> began_;
};

}  // namespace tutti::server::journal
