// Computes percentiles from counts by bucket, for any kind of buckets.
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

/// Returns limit_of(b) for the bucket b in which the share q of all counts is reached; q is between 0 and 1. Returns 0
/// if there are no counts. The last bucket contains all larger values.
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
