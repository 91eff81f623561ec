#include "core/lifecycle/room.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "core/state/critical.hpp"

namespace tutti::core {
namespace {

std::size_t orecs_read(const descriptor& d) noexcept { return static_cast<std::size_t>(d.read_next_ - d.read_begin); }

bool reads_are_large(const descriptor& d) noexcept { return d.read_room() * sizeof *d.read_begin > memory::kept_bytes; }

bool is_large(descriptor& d) noexcept {
    bool large = reads_are_large(d);
    for_each_log(d, [&](const auto& log) { large |= log.is_large(); });
    return large;
}

void settle(descriptor& d) noexcept {
    for_each_log(d, [](auto& log) { log.settle(); });
    // The attempt is over, so its reads are no longer needed.
    d.read_next_ = d.read_begin;
    const std::size_t fitting = memory::fitting_room<const orec*>(std::exchange(d.large.most_read, 0), d.read_room());
    if (fitting < d.read_room()) d.resize_reads(fitting);
}

}  // namespace

void note_use(descriptor& d) noexcept {
    for_each_log(d, [](auto& log) { log.note_use(); });
    d.large.most_read = std::max(d.large.most_read, orecs_read(d));
}

void count_towards_settling(descriptor& d) noexcept {
    if (d.large.until_settled == 0) d.large.until_settled = transactions_per_period;
    if (--d.large.until_settled != 0) return;
    undisturbed(d, [&] { settle(d); });
    if (!is_large(d)) d.slow_commit &= ~slow_commit_large;
}

void give_back_room(descriptor& d) noexcept {
    for_each_log(d, [](auto& log) { log.trim(); });
    if (reads_are_large(d)) {
        std::free(static_cast<void*>(std::exchange(d.read_begin, nullptr)));
        d.read_next_ = d.read_end_ = nullptr;
    }
    d.holdings.trim();
    d.slow_commit &= ~slow_commit_large;
}

}  // namespace tutti::core
