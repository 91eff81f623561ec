// How a running transaction answers a commit that waits in quiescence and asks whether the transaction's reads are
// current. privatization/quiescence.hpp explains why the answer is enough.
#pragma once

#include "core/state/descriptor.hpp"

namespace tutti::core {

/// Returns true if a commit has asked d. Called in a barrier of d that is not inlined.
[[nodiscard]] TUTTI_ALWAYS_INLINE bool quiescence_requested(const descriptor& d) noexcept {
    return d.replies_requested.raw().load(std::memory_order_relaxed) !=
           d.replies_given.raw().load(std::memory_order_relaxed);
}

/// Refreshes d's snapshot, and notifies the commits that have asked. May abort. Does not answer if the commits must
/// wait until d's transaction ends.
void reply_to_quiescence(descriptor& d);

}  // namespace tutti::core
