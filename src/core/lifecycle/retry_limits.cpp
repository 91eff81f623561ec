#include "core/lifecycle/retry_limits.hpp"

#include "core/state/critical.hpp"

namespace tutti::core {

base::deadline first_time_at(descriptor& d, const detail::retry_place& place, base::deadline now) {
    execution& run = d.run;
    if (!run.waits_from) {
        run.waits_from = d.retry_calls.size();
        d.slow_commit |= slow_commit_restarted;  // `run` has to be reset even if this attempt commits
    }
    const std::uint32_t number = ++run.waits_made;
    for (std::size_t i = *run.waits_from; i < d.retry_calls.size(); ++i) {
        retry_call& c = d.retry_calls[i];
        if (c.place == place && c.attempt != run.attempt) {
            c.attempt = run.attempt;
            c.number = number;
            return c.since;
        }
    }
    undisturbed(d, [&] { d.retry_calls.push({place, now, run.attempt, number}); });
    return now;
}

void take_back_retry_calls(descriptor& d, std::uint32_t made) noexcept {
    execution& run = d.run;
    if (run.waits_made == made) return;
    for (std::size_t i = *run.waits_from; i < d.retry_calls.size(); ++i) {
        retry_call& c = d.retry_calls[i];
        if (c.attempt == run.attempt && c.number > made) c.attempt = 0;
    }
    run.waits_made = made;
}

}  // namespace tutti::core
