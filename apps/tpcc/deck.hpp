// Draws the next profile.
#pragma once

#include <utility>
#include <vector>

#include "tpcc/driver.hpp"
#include "tpcc/random.hpp"

namespace tpcc {

/// A deck of a hundred cards (clause 5.2.4.2): within each hundred transactions the mix is exact, the order random.
class deck {
public:
    explicit deck(const profile_mix& mix) {
        for (std::size_t p = 0; p < profile_count; ++p)
            cards_.insert(cards_.end(), static_cast<std::size_t>(mix[p]), static_cast<profile>(p));
    }
    profile draw(random_source& random) {
        if (next_ == 0) {
            for (std::size_t i = cards_.size() - 1; i > 0; --i) {
                std::swap(cards_[i], cards_[static_cast<std::size_t>(random.uniform(0, static_cast<int>(i)))]);
            }
            next_ = cards_.size();
        }
        return cards_[--next_];
    }

private:
    std::vector<profile> cards_;
    std::size_t next_ = 0;
};

}  // namespace tpcc
