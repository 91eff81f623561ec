// What a running transaction does for a commit that waits in quiescence and asks it whether its reads are current:
// privatization/quiescence.hpp says why that is enough.
#pragma once

#include "core/state/descriptor.hpp"

namespace tutti::core {

/// In a barrier of d that is not inlined: somebody has asked.
[[nodiscard]] TUTTI_ALWAYS_INLINE bool is_asked(const descriptor& d) noexcept {
    return d.asked.raw().load(std::memory_order_relaxed) != d.answered.raw().load(std::memory_order_relaxed);
}

/// Refreshes d's snapshot and says so. May abort. Says nothing in a transaction whose end has to be waited for.
void answer_with_current_reads(descriptor& d);

}  // namespace tutti::core
