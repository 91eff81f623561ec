// How many bytes of records lie behind a position, without a walk through all of them: the sums at positions that are
// some way apart.
//
// Thread safety: one thread at a time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <vector>

namespace tutti::server::journal {

class milestones {
public:
    static constexpr std::uint64_t apart = std::uint64_t{1} << 20;  ///< bytes, as many as a piece for a follower has

    /// The next group. Positions grow.
    void add(std::uint64_t first, std::uint64_t bytes) {
        if (all_.empty() || sum_ - all_.back().before >= apart) all_.push_back({first, sum_});
        sum_ += bytes;
    }
    /// Groups before it have gone.
    void drop_before(std::uint64_t first) { all_.erase(all_.begin(), next(first)); }

    /// Where to begin to count from a position on, and what is behind the end of that.
    struct stretch {
        std::uint64_t end;     ///< position; none is as great where it is the end of the log
        std::uint64_t behind;  ///< bytes
    };
    /// Of the groups from `first` on. O(log n)
    [[nodiscard]] stretch from(std::uint64_t first) const {
        const auto m = next(first);
        return m == all_.end() ? stretch{INT64_MAX, 0} : stretch{m->first, sum_ - m->before};
    }

private:
    struct milestone {
        std::uint64_t first;   ///< of a group
        std::uint64_t before;  ///< bytes of those before it
    };
    [[nodiscard]] std::vector<milestone>::const_iterator next(std::uint64_t first) const {
        return std::ranges::lower_bound(all_, first, {}, &milestone::first);
    }

    std::vector<milestone> all_;
    std::uint64_t sum_ = 0;
};

}  // namespace tutti::server::journal
