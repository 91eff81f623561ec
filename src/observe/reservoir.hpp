// A random sample of a stream of durations, of bounded size: Vitter, "Random Sampling with a Reservoir", ACM TOMS
// 11(1), 1985, algorithm R. After k durations, each of them is in the sample with the same probability.
//
// The sample forgets old durations: once the stream is `memory` times as long as the sample, every new duration enters
// with the probability 1 / memory. An old duration then stays for memory * capacity further durations on average. So
// the sample adapts to a block that has become slower or faster.
//
// Thread safety: any thread may call any function. The lock is held for some 20 ns, and during a refresh for as long as
// the sorting takes. A context that can be switched away must make its calls inside a critical region.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/lock.hpp"

namespace tutti::observe {

class reservoir {
public:
    static constexpr std::uint64_t memory = 16;

    /// Creates an empty sample. `seed` determines the random numbers. Throws std::bad_alloc. After this, only `sample`
    /// allocates memory.
    explicit reservoir(std::size_t capacity, std::uint64_t seed = 1);
    reservoir(const reservoir&) = delete;
    reservoir& operator=(const reservoir&) = delete;

    void add(std::uint64_t duration) noexcept;

    /// Returns the duration that the share `q` of the sample does not exceed (nearest rank), or 0 if the sample is
    /// empty. A large sample is sorted only when a sixteenth of it has been replaced since the previous sorting, so the
    /// result may be out of date by that much. REQUIRES: 0 < q <= 1.
    [[nodiscard]] std::uint64_t percentile(double q) noexcept { return percentile(q, 0); }

    /// Works like percentile(q), but never returns one of the `outliers` longest durations, unless the sample has no
    /// other durations.
    [[nodiscard]] std::uint64_t percentile(double q, std::size_t outliers) noexcept;

    /// Removes the longest duration from the sample. Does nothing if the sample is empty. O(capacity).
    void forget_longest() noexcept;

    /// Returns a copy of the current sample, unordered. Throws std::bad_alloc.
    [[nodiscard]] std::vector<std::uint64_t> sample() const;

private:
    std::uint64_t below(std::uint64_t bound) noexcept;
    void sort() noexcept;

    mutable base::lock lock_;
    std::size_t capacity_;
    std::uint64_t random_;
    std::uint64_t seen_ = 0;             // length of the stream, but at most memory * capacity_
    std::size_t changes_ = 0;            // number of changes since the sample was sorted
    std::vector<std::uint64_t> sample_;  // like the next member, has its full capacity from the start
    std::vector<std::uint64_t> sorted_;
};

}  // namespace tutti::observe
