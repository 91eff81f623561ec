#include "observe/reservoir.hpp"

#include <algorithm>
#include <cmath>

namespace tutti::observe {

reservoir::reservoir(std::size_t capacity, std::uint64_t seed) : capacity_{capacity}, random_{seed} {
    sample_.reserve(capacity);
    sorted_.reserve(capacity);
}

/// Returns a random number below `bound`. The generator is splitmix64 (Vigna); the result is the high half of a product
/// instead of a remainder.
std::uint64_t reservoir::below(std::uint64_t bound) noexcept {
    std::uint64_t z = (random_ += 0x9e3779b97f4a7c15U);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    z ^= z >> 31;
    __extension__ using wide = unsigned __int128;
    return static_cast<std::uint64_t>((static_cast<wide>(z) * bound) >> 64);
}

void reservoir::add(std::uint64_t duration) noexcept {
    const base::lock_guard guard{lock_};
    seen_ = std::min(seen_ + 1, memory * capacity_);
    if (sample_.size() < capacity_) {
        sample_.push_back(duration);
    } else {
        const std::uint64_t place = below(seen_);
        if (place >= capacity_) return;
        sample_[static_cast<std::size_t>(place)] = duration;
    }
    ++changes_;
}

void reservoir::sort() noexcept {
    sorted_ = sample_;
    std::sort(sorted_.begin(), sorted_.end());
    changes_ = 0;
}

std::uint64_t reservoir::percentile(double q, std::size_t outliers) noexcept {
    const base::lock_guard guard{lock_};
    if (sample_.empty()) return 0;
    // While the sample is small, it is sorted after every change, because every duration has a large weight.
    if (changes_ != 0 && (changes_ >= capacity_ / 16 || sorted_.size() < capacity_ / 4)) sort();
    const auto rank = static_cast<std::size_t>(std::ceil(q * static_cast<double>(sorted_.size())));
    const std::size_t most = sorted_.size() > outliers ? sorted_.size() - outliers : 1;
    return sorted_[std::clamp<std::size_t>(rank, 1, most) - 1];
}

void reservoir::forget_longest() noexcept {
    const base::lock_guard guard{lock_};
    if (sample_.empty()) return;
    sample_.erase(std::max_element(sample_.begin(), sample_.end()));
    sort();
}

std::vector<std::uint64_t> reservoir::sample() const {
    std::vector<std::uint64_t> copy;
    copy.reserve(capacity_);
    const base::lock_guard guard{lock_};
    copy = sample_;
    return copy;
}

}  // namespace tutti::observe
