// A log-linear histogram of durations, like G. Tene's HdrHistogram: every power of two is divided into equal buckets,
// so that the relative error is bounded over the whole range.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace cli {

/// Counts durations of up to 18 minutes, with an error of at most 1.6 %. A longer duration counts as 18 minutes. The
/// maximum is exact. Not thread-safe: each worker has its own histogram, and `merge` adds one histogram to another.
class histogram {
public:
    void add(std::uint64_t nanoseconds) noexcept {
        ++counts_[std::min(bucket_of(nanoseconds), bucket_count - 1)];
        ++total_;
        max_ = std::max(max_, nanoseconds);
    }

    void merge(const histogram& other) noexcept {
        for (std::size_t i = 0; i < bucket_count; ++i) counts_[i] += other.counts_[i];
        total_ += other.total_;
        max_ = std::max(max_, other.max_);
    }

    /// Returns the smallest duration, in nanoseconds, that is at least as long as a fraction q in (0, 1] of all
    /// durations. Returns 0 if the histogram is empty.
    [[nodiscard]] std::uint64_t percentile(double q) const noexcept {
        if (total_ == 0) return 0;
        const auto rank = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(q * static_cast<double>(total_) + 0.5));
        std::uint64_t seen = 0;
        for (std::size_t i = 0; i < bucket_count; ++i) {
            seen += counts_[i];
            if (seen >= rank) return std::min(upper_bound_of(i), max_);
        }
        return max_;
    }

    /// Calls f(nanoseconds, count) for every duration that occurs, shortest first.
    template <class F>
    void for_each(F&& f) const {
        for (std::size_t i = 0; i < bucket_count; ++i) {
            if (counts_[i] != 0) f(std::min(upper_bound_of(i), max_), counts_[i]);
        }
    }

    [[nodiscard]] std::uint64_t total() const noexcept { return total_; }
    [[nodiscard]] std::uint64_t max() const noexcept { return max_; }

private:
    // Each duration below 2^7 has its own bucket. Above, the six bits after the highest one select the bucket.
    static constexpr unsigned linear_bits = 6;
    static constexpr unsigned max_bits = 40;
    static constexpr std::size_t bucket_count = (max_bits - linear_bits + 1) << linear_bits;

    static std::size_t bucket_of(std::uint64_t v) noexcept {
        if (v < (std::uint64_t{1} << linear_bits)) return static_cast<std::size_t>(v);
        const unsigned shift = static_cast<unsigned>(std::bit_width(v)) - linear_bits - 1;
        return (static_cast<std::size_t>(shift) << linear_bits) + static_cast<std::size_t>(v >> shift);
    }
    /// Returns the longest duration in the bucket.
    static std::uint64_t upper_bound_of(std::size_t bucket) noexcept {
        const std::size_t per_octave = std::size_t{1} << linear_bits;
        if (bucket < 2 * per_octave) return bucket;
        const auto shift = static_cast<unsigned>(bucket / per_octave - 1);
        const std::uint64_t first = static_cast<std::uint64_t>(bucket % per_octave + per_octave) << shift;
        return first + (std::uint64_t{1} << shift) - 1;
    }

    std::array<std::uint64_t, bucket_count> counts_{};
    std::uint64_t total_ = 0;
    std::uint64_t max_ = 0;
};

}  // namespace cli
