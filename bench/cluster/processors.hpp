// The processors of one node, in virtual time: a job waits for the first that is free, in the order in which jobs
// come. That is all there is to a queue whose jobs have known lengths.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace bench::cluster {

class processors {
public:
    explicit processors(unsigned number) : free_at_(number, 0) {}

    /// When work that comes now, and takes so long, is done.
    [[nodiscard]] std::uint64_t done(std::uint64_t now, std::uint64_t work) {
        const auto first = std::ranges::min_element(free_at_);
        *first = std::max(*first, now) + work;
        busy_ += work;
        return *first;
    }
    /// How long they have been so until now, all together.
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
