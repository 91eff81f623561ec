// The memory that a descriptor's logs keep from one transaction to the next, by the policy of memory/log.hpp.
//
// A log that becomes large raises slow_commit_large (I4 in descriptor.hpp), which stays up until none is large any
// more. So only a descriptor with a large log counts its transactions, and a commit without slow_commit knows nothing
// of all this.
#pragma once

#include "core/state/descriptor.hpp"

namespace tutti::core {

/// A period, in transactions: a large log has more than a thousand entries.
inline constexpr std::uint32_t transactions_per_period = 64;

/// Calls f(log) for every log but that of the orecs read, which is none of memory/log.hpp.
template <class F>
void for_each_log(descriptor& d, F&& f) {
    f(d.writes);
    f(d.overwritten);
    f(d.kept.index.memory());
    f(d.kept.values);
    f(d.deferred_log);
    f(d.retry_calls);
    d.limbo.for_each_log(f);
}

/// At a commit, before what the logs hold is dropped.
void note_use(descriptor& d) noexcept;
/// At the end of an execution, when nothing reads its logs any more. Every so many times it gives memory back.
/// REQUIRES: d is idle, and slow_commit_large is up.
void count_towards_settling(descriptor& d) noexcept;
/// All that is large and empty. REQUIRES: d is idle.
void give_back_room(descriptor& d) noexcept;

}  // namespace tutti::core
