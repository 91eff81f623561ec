// The waiting half of `retry`; waiting/wakeup.hpp has the table of waiters.
#pragma once

#include "core/state/descriptor.hpp"

namespace tutti::core {

/// Rolls back an attempt that called retry, and waits until another attempt is worthwhile. REQUIRES: d.frame_ is the
/// outermost block.
void wait_in_retry(descriptor& d);

}  // namespace tutti::core
