// Measures how long the calls of each procedure run. Predicts whether a call will end before its thread is needed
// elsewhere, and how many workers are worth waking for some calls.
//
// A procedure that was short once may take long the next time, so a caller of `is_short` must tolerate a wrong answer
// (io_ownership.hpp).
//
// Thread safety: not thread-safe. An I/O thread owns the object.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <vector>

namespace tutti::server {

class duration_estimator {
public:
    /// A call that runs for less than `short_limit` is short. `workers` is the number of workers that share the calls.
    duration_estimator(std::size_t procedures, std::chrono::nanoseconds short_limit, unsigned workers)
        : short_limit_{short_limit}, workers_{workers}, estimates_(procedures) {}

    void record(std::size_t procedure, std::chrono::nanoseconds ran) noexcept {
        estimate& entry = estimates_[procedure];
        rate(entry.short_score, ran < short_limit_);
        rate(entry.shared_score, ran < short_limit_ * workers_);
        // Moves the estimate an eighth of the way, so that the effect of an outlier disappears within a few calls.
        const std::int64_t now = std::min(ran, 4 * short_limit_).count();
        entry.typical += (now - entry.typical) / 8;
    }
    [[nodiscard]] bool is_short(std::size_t procedure) const noexcept {
        return estimates_[procedure].short_score >= threshold;
    }
    /// Returns true if, while all workers run calls of this procedure, a worker becomes free soon. With n workers, one
    /// of them becomes free after an n-th of a call's duration.
    [[nodiscard]] bool frees_worker_soon(std::size_t procedure) const noexcept {
        return estimates_[procedure].shared_score >= threshold;
    }
    /// Returns the smoothed duration of the procedure's calls. For long calls, the value is capped, and only shows that
    /// they are long.
    [[nodiscard]] std::chrono::nanoseconds typical(std::size_t procedure) const noexcept {
        return std::chrono::nanoseconds{estimates_[procedure].typical};
    }

private:
    // A procedure is rated short while its score is at least `threshold`. At the maximum score, a single long call does
    // not change the rating, but a second long call soon afterwards does.
    static constexpr int threshold = 16, max_score = 64, penalty = 32;

    static void rate(int& score, bool good) noexcept {
        score = good ? std::min(score + 1, max_score) : std::max(score - penalty, 0);
    }

    struct estimate {
        int short_score = 0, shared_score = 0;
        std::int64_t typical = 0;
    };
    const std::chrono::nanoseconds short_limit_;
    const unsigned workers_;
    std::vector<estimate> estimates_;
};

}  // namespace tutti::server
