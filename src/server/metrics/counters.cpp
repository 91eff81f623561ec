#include "server/metrics/counters.hpp"

#include <bit>
#include <new>

#include "observe/histogram.hpp"

namespace tutti::server {
namespace {

// Bucket 0 ends at 1 us. For each power of two p >= 2, there are buckets that end at p and at p * 3 / 2.
std::size_t bucket_of(std::uint64_t microseconds) noexcept {
    if (microseconds <= 1) return 0;
    const auto octave = static_cast<std::size_t>(std::bit_width(microseconds - 1));  // (2^(o-1), 2^o]
    if (octave == 1) return 1;
    const std::uint64_t half = std::uint64_t{3} << (octave - 2);
    return std::min(2 * octave - (microseconds <= half ? 2 : 1), bucket_count - 1);
}

}  // namespace

std::uint64_t bucket_limit(std::size_t bucket) noexcept {
    if (bucket == 0) return 1;
    const std::size_t octave = (bucket + 2) / 2;
    return bucket % 2 == 1 ? std::uint64_t{1} << ((bucket + 1) / 2) : std::uint64_t{3} << (octave - 2);
}

std::uint64_t percentile(const turnaround_sum& of, double q) noexcept {
    return observe::percentile(of.buckets, q, bucket_limit);
}

void counters::count_call(std::size_t procedure, int priority, call_outcome how, std::chrono::nanoseconds turnaround) {
    procedure_counters& of = by_procedure_[procedure];
    of.outcomes[static_cast<std::size_t>(how)].add_one();
    // A refused call has no turnaround time, because otherwise an overload would look like very short calls.
    if (how == call_outcome::busy || how == call_outcome::shutdown) return;
    auto& slot = of.by_priority[static_cast<std::size_t>(priority)];
    turnaround_histogram<counter>* found = slot.load(std::memory_order_relaxed);
    if (found == nullptr) {
        found = new (std::nothrow) turnaround_histogram<counter>;
        if (found == nullptr) return;
        slot.store(found, std::memory_order_release);  // pairs with the acquire load in add_to
    }
    const auto microseconds = static_cast<std::uint64_t>((turnaround.count() + 999) / 1000);
    found->buckets[bucket_of(microseconds)].add_one();
    found->microseconds.add(microseconds);
}

void counters::add_to(turnaround_sum& sum, std::size_t procedure, std::size_t priority) const noexcept {
    const auto* const found = by_procedure_[procedure].by_priority[priority].load(std::memory_order_acquire);
    if (found == nullptr) return;
    for (std::size_t b = 0; b < bucket_count; ++b) sum.buckets[b] += found->buckets[b].get();
    sum.microseconds += found->microseconds.get();
}

}  // namespace tutti::server
