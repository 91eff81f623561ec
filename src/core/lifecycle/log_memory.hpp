// Decides how much memory a descriptor's logs keep from one transaction to the next, by the policy of memory/log.hpp.
//
// A log that becomes large raises slow_commit_large (DSC4 in descriptor.hpp), which stays set until no log is large. So
// only a descriptor with a large log counts its transactions, and a commit without slow-commit flags has no work here.
#pragma once

#include "core/state/descriptor.hpp"

namespace tutti::core {

/// The length of a period in transactions. A period may be short, because a large log has more than a thousand entries.
inline constexpr std::uint32_t transactions_per_period = 64;

/// Calls f(log) for every log except the log of read orecs, whose type is not from memory/log.hpp.
template <class F>
void for_each_log(descriptor& d, F&& f) {
    f(d.writes);
    f(d.overwritten);
    f(d.algorithm_data.index.memory());
    f(d.algorithm_data.values);
    f(d.deferred_log);
    f(d.retry_calls);
    d.limbo.for_each_log(f);
}

/// Records the sizes of the logs at a commit, before they are emptied.
void note_log_use(descriptor& d) noexcept;
/// Counts an execution at its end, when its logs are no longer read. Frees memory after every transactions_per_period
/// executions. REQUIRES: d is idle, and slow_commit_large is set.
void count_towards_shrink(descriptor& d) noexcept;
/// Frees the memory of all logs that are large and empty. REQUIRES: d is idle.
void release_log_memory(descriptor& d) noexcept;

}  // namespace tutti::core
