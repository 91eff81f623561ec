// Measures how long the calls of each procedure run. Predicts whether a call will end before its thread is needed
// elsewhere, and how many workers are worth waking for some calls.
//
// A procedure that was brief once may take long the next time. A caller of `is_brief` must tolerate a wrong answer
// (helm.hpp).
//
// Thread safety: not thread-safe. An I/O thread owns the object.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <vector>

namespace tutti::server {

class pace {
public:
    /// A call that runs for less than `brief` is brief. `workers` is the number of workers that share the calls.
    pace(std::size_t procedures, std::chrono::nanoseconds brief, unsigned workers)
        : brief_{brief}, workers_{workers}, known_(procedures) {}

    void note(std::size_t procedure, std::chrono::nanoseconds ran) noexcept {
        one& of = known_[procedure];
        rate(of.brief, ran < brief_);
        rate(of.shared, ran < brief_ * workers_);
        // Moves an eighth of the way, so that the effect of an outlier disappears within a few calls.
        const std::int64_t now = std::min(ran, 4 * brief_).count();
        of.usual += (now - of.usual) / 8;
    }
    [[nodiscard]] bool is_brief(std::size_t procedure) const noexcept { return known_[procedure].brief >= enough; }
    /// Returns true if some worker becomes free soon when all of them run such calls. With n workers, one becomes free
    /// after an n-th of the duration.
    [[nodiscard]] bool frees_one_soon(std::size_t procedure) const noexcept {
        return known_[procedure].shared >= enough;
    }
    /// Returns the usual duration, smoothed. For long calls, the value only shows that they are long.
    [[nodiscard]] std::chrono::nanoseconds usual(std::size_t procedure) const noexcept {
        return std::chrono::nanoseconds{known_[procedure].usual};
    }

private:
    // A procedure is brief after this many brief calls. Then one long call does not change the rating, but a second one
    // soon after does.
    static constexpr int enough = 16, most = 64, penalty = 32;

    static void rate(int& score, bool good) noexcept {
        score = good ? std::min(score + 1, most) : std::max(score - penalty, 0);
    }

    struct one {
        int brief = 0, shared = 0;  // scores
        std::int64_t usual = 0;
    };
    const std::chrono::nanoseconds brief_;
    const unsigned workers_;
    std::vector<one> known_;
};

}  // namespace tutti::server
