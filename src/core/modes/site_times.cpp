#include "core/modes/site_times.hpp"

#include <algorithm>
#include <memory>

namespace tutti::core {
namespace {

constexpr std::size_t outliers = 1;
constexpr std::uint32_t whole = 1U << 16;
constexpr std::uint32_t weight = 16;  // the moving average covers some 16 attempts

}  // namespace

site_times::site_times(std::size_t samples, std::uint64_t seed)
    : by_mode_{durations{samples, seed}, durations{samples, seed}, durations{samples, seed}} {}

void site_times::summarise(durations& d) noexcept {
    d.median.store(d.sample.percentile(0.5, outliers), std::memory_order_relaxed);
    d.expected.store(d.sample.percentile(d.q.load(std::memory_order_relaxed), outliers), std::memory_order_relaxed);
}

void site_times::note_commit(mode m, nanoseconds took, double q) noexcept {
    durations& d = of(m);
    d.sample.add(static_cast<std::uint64_t>(std::max<std::int64_t>(took.count(), 1)));
    if (m == mode::active) return;
    d.q.store(q, std::memory_order_relaxed);
    summarise(d);
    // A strict commit gives no information about roll-backs. But each one lowers the estimate a little, so that the
    // estimate does not outlive the attempts that it comes from.
    const std::uint32_t share = rolled_back_.load(std::memory_order_relaxed);
    rolled_back_.store(share - share / (4 * weight), std::memory_order_relaxed);
}

site_times::nanoseconds site_times::expected_in(mode m, double q) noexcept {
    return nanoseconds{static_cast<std::int64_t>(of(m).sample.percentile(q, outliers))};
}

void site_times::note_attempt(bool was_rolled_back) noexcept {
    const std::uint32_t share = rolled_back_.load(std::memory_order_relaxed);
    if (!was_rolled_back && share == 0) return;
    const std::uint32_t next = share - (share + weight - 1) / weight + (was_rolled_back ? whole / weight : 0);
    rolled_back_.store(std::min(next, whole - whole / 64), std::memory_order_relaxed);
}

double site_times::rolled_back() const noexcept {
    return static_cast<double>(rolled_back_.load(std::memory_order_relaxed)) / whole;
}

void site_times::note_denied(mode m) noexcept {
    durations& d = of(m);
    if ((d.denied.fetch_add(1, std::memory_order_relaxed) + 1) % denials_before_forgetting != 0) return;
    d.sample.forget_longest();
    summarise(d);
}

site_times& times_of(observe::site& where, std::size_t samples) {
    // Acquire here and release below: a thread that finds the object also sees its construction.
    if (site_times* const there = known_times_of(where)) return *there;
    auto fresh = std::make_unique<site_times>(samples, where.id + 1);
    void* there = nullptr;
    if (!where.deadlines.compare_exchange_strong(there, fresh.get(), std::memory_order_acq_rel)) {
        return *static_cast<site_times*>(there);
    }
    return *fresh.release();
}

site_times* known_times_of(const observe::site& where) noexcept {
    return static_cast<site_times*>(where.deadlines.load(std::memory_order_acquire));
}

}  // namespace tutti::core
