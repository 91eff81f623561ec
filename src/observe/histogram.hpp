// Percentiles of counts by bucket, whatever the buckets are.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>

namespace tutti::observe {

template <class Counts>
[[nodiscard]] std::uint64_t count_of(const Counts& buckets) noexcept {
    return std::accumulate(buckets.begin(), buckets.end(), std::uint64_t{0});
}

/// limit_of(b) of the bucket b that the share q of all, between 0 and 1, is reached in; 0 if there are none. The last
/// bucket stands for all that lies beyond.
template <class Counts, class Limit>
[[nodiscard]] std::uint64_t percentile(const Counts& buckets, double q, Limit limit_of) noexcept {
    const std::uint64_t all = count_of(buckets);
    if (all == 0) return 0;
    const auto rank = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(q * static_cast<double>(all) + 0.5));
    std::uint64_t seen = 0;
    std::size_t b = 0;
    while (b + 1 < buckets.size() && (seen += buckets[b]) < rank) ++b;
    return limit_of(b);
}

}  // namespace tutti::observe
