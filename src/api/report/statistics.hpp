// Sums over the counters of all descriptors.
#pragma once

#include <numeric>
#include <vector>

#include "tutti/statistics.hpp"

namespace tutti::api {

/// Returns the upper edge of the bucket that contains the quantile q of the samples, in nanoseconds. Returns 0 if there
/// are no samples.
[[nodiscard]] std::uint64_t duration_percentile(const site_statistics& s, double q) noexcept;

template <std::size_t Kinds>
[[nodiscard]] std::uint64_t sum_of(const std::array<std::uint64_t, Kinds>& by_kind) noexcept {
    return std::accumulate(by_kind.begin(), by_kind.end(), std::uint64_t{0});
}

}  // namespace tutti::api
