// Sums over what the descriptors have counted.
#pragma once

#include <numeric>
#include <vector>

#include "tutti/statistics.hpp"

namespace tutti::api {

/// The upper edge of the bucket in which the fraction q of the samples is reached, in nanoseconds; 0: there are none.
[[nodiscard]] std::uint64_t duration_percentile(const site_statistics& s, double q) noexcept;

template <std::size_t Kinds>
[[nodiscard]] std::uint64_t in_all(const std::array<std::uint64_t, Kinds>& by_kind) noexcept {
    return std::accumulate(by_kind.begin(), by_kind.end(), std::uint64_t{0});
}

}  // namespace tutti::api
