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
    /// What runs for less than `brief` is brief.
    pace(std::size_t procedures, std::chrono::nanoseconds brief) : brief_{brief}, known_(procedures) {}

    void note(std::size_t procedure, std::chrono::nanoseconds ran) noexcept {
        one& of = known_[procedure];
        if (ran < brief_) of.score = std::min(of.score + 1, most);
        else of.score = std::max(of.score - penalty, 0);
        // Moves an eighth of the way: what one outlier does is forgotten within a few calls.
        const std::int64_t now = std::min(ran, 4 * brief_).count();
        of.usual += (now - of.usual) / 8;
    }
    [[nodiscard]] bool is_brief(std::size_t procedure) const noexcept { return known_[procedure].score >= enough; }
    /// Smoothed; of long ones no more than that they are.
    [[nodiscard]] std::chrono::nanoseconds usual(std::size_t procedure) const noexcept {
        return std::chrono::nanoseconds{known_[procedure].usual};
    }

private:
    // A procedure is brief after so many calls; then one that lasts is forgiven, and a second soon after is not.
    static constexpr int enough = 16, most = 64, penalty = 32;

    struct one {
        int score = 0;
        std::int64_t usual = 0;
    };
    const std::chrono::nanoseconds brief_;
    std::vector<one> known_;
};

}  // namespace tutti::server
