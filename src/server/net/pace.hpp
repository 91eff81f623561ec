// How long the calls of each procedure run: whether all that is known of one says that it is over before anybody would
// miss the thread that runs it, and how many workers are worth waking for some calls.
//
// What was brief once may last the next time; who relies on `is_brief` has to do without being right (helm.hpp).
//
// Thread safety: none; an I/O thread owns it.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <vector>

namespace tutti::server {

class pace {
public:
    /// What runs for less than `brief` is brief. So many workers share the calls.
    pace(std::size_t procedures, std::chrono::nanoseconds brief, unsigned workers)
        : brief_{brief}, workers_{workers}, known_(procedures) {}

    void note(std::size_t procedure, std::chrono::nanoseconds ran) noexcept {
        one& of = known_[procedure];
        rate(of.brief, ran < brief_);
        rate(of.shared, ran < brief_ * workers_);
        // Moves an eighth of the way: what one outlier does is forgotten within a few calls.
        const std::int64_t now = std::min(ran, 4 * brief_).count();
        of.usual += (now - of.usual) / 8;
    }
    [[nodiscard]] bool is_brief(std::size_t procedure) const noexcept { return known_[procedure].brief >= enough; }
    /// Whether some worker is free soon where all of them run such calls: with n of them one is after an n-th of the
    /// time.
    [[nodiscard]] bool frees_one_soon(std::size_t procedure) const noexcept {
        return known_[procedure].shared >= enough;
    }
    /// Smoothed; of long ones no more than that they are.
    [[nodiscard]] std::chrono::nanoseconds usual(std::size_t procedure) const noexcept {
        return std::chrono::nanoseconds{known_[procedure].usual};
    }

private:
    // A procedure is brief after so many calls; then one that lasts is forgiven, and a second soon after is not.
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
