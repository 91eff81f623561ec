#include "core/lifecycle/log_memory.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "core/state/critical.hpp"

namespace tutti::core {
namespace {

std::size_t orecs_read(const descriptor& d) noexcept { return static_cast<std::size_t>(d.read_next_ - d.read_begin); }

bool is_read_log_large(const descriptor& d) noexcept {
    return d.read_capacity() * sizeof *d.read_begin > memory::kept_bytes;
}

bool is_large(descriptor& d) noexcept {
    bool large = is_read_log_large(d);
    for_each_log(d, [&](const auto& log) { large |= log.is_large(); });
    return large;
}

void shrink_logs(descriptor& d) noexcept {
    for_each_log(d, [](auto& log) { log.end_period(); });
    // The attempt is over, so its reads are no longer needed.
    d.read_next_ = d.read_begin;
    const std::size_t fitting =
        memory::room_after_period<const orec*>(std::exchange(d.large_logs.max_reads, 0), d.read_capacity());
    if (fitting < d.read_capacity()) d.resize_reads(fitting);
}

}  // namespace

void note_log_use(descriptor& d) noexcept {
    for_each_log(d, [](auto& log) { log.record_usage(); });
    d.large_logs.max_reads = std::max(d.large_logs.max_reads, orecs_read(d));
}

void count_towards_shrink(descriptor& d) noexcept {
    if (d.large_logs.until_shrink == 0) d.large_logs.until_shrink = transactions_per_period;
    if (--d.large_logs.until_shrink != 0) return;
    in_critical_region(d, [&] { shrink_logs(d); });
    if (!is_large(d)) d.slow_commit &= ~slow_commit_large;
}

void release_log_memory(descriptor& d) noexcept {
    for_each_log(d, [](auto& log) { log.trim(); });
    if (is_read_log_large(d)) {
        std::free(static_cast<void*>(std::exchange(d.read_begin, nullptr)));
        d.read_next_ = d.read_end_ = nullptr;
    }
    d.holdings.trim();
    d.slow_commit &= ~slow_commit_large;
}

}  // namespace tutti::core
