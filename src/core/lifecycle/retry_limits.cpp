#include "core/lifecycle/retry_limits.hpp"

#include <algorithm>

#include "core/state/critical.hpp"

namespace tutti::core {

base::deadline first_reached_at(descriptor& d, const detail::retry_site& place, base::deadline now) {
    execution& run = d.run;
    if (!run.waits_from) {
        run.waits_from = d.retry_calls.size();
        d.slow_commit |= slow_commit_restarted;  // `run` has to be reset even if this attempt commits
    }
    const std::size_t from = *run.waits_from;
    const std::size_t end = d.retry_calls.size();
    const auto is_made = [&](std::size_t i) { return d.retry_calls[i].attempt == run.attempt; };
    while (from + run.waits_free != end && is_made(from + run.waits_free)) ++run.waits_free;
    std::size_t at = from + run.waits_free;
    while (at != end && (is_made(at) || !(d.retry_calls[at].site == place))) ++at;
    if (at == end) in_critical_region(d, [&] { d.retry_calls.push({place, now, 0, 0}); });
    retry_call& c = d.retry_calls[at];
    c.attempt = run.attempt;
    c.number = ++run.waits_made;
    run.waits_end = std::max(run.waits_end, static_cast<std::uint32_t>(at - from + 1));
    return c.since;
}

void undo_retry_calls(descriptor& d, std::uint32_t made) noexcept {
    execution& run = d.run;
    if (run.waits_made == made) return;
    std::uint32_t at = run.waits_end;
    std::uint32_t end = 0;
    while (run.waits_made != made) {
        retry_call& c = d.retry_calls[*run.waits_from + --at];
        if (c.attempt != run.attempt) continue;
        if (c.number > made) {
            c.attempt = 0;
            --run.waits_made;
        } else if (end == 0) {
            end = at + 1;  // the call after the last one that stays
        }
    }
    run.waits_end = end != 0 ? end : at;
    run.waits_free = std::min(run.waits_free, at);
}

}  // namespace tutti::core
