// The processors of one node, in virtual time: a job waits for the first free processor, in the order in which jobs
// arrive. That is a complete model of a queue whose jobs have known lengths.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace bench::cluster {

class processors {
public:
    explicit processors(unsigned number) : free_at_(number, 0) {}

    /// Returns the time when a job of `work` that arrives now is done.
    [[nodiscard]] std::uint64_t done(std::uint64_t now, std::uint64_t work) {
        const auto first = std::ranges::min_element(free_at_);
        *first = std::max(*first, now) + work;
        busy_ += work;
        return *first;
    }
    /// Returns the total busy time of all processors until now.
    [[nodiscard]] std::uint64_t busy(std::uint64_t now) const {
        std::uint64_t ahead = 0;
        for (const std::uint64_t free : free_at_) ahead += free - std::min(free, now);
        return busy_ - ahead;
    }

private:
    std::vector<std::uint64_t> free_at_;
    std::uint64_t busy_ = 0;
};

}  // namespace bench::cluster
