// The part of `retry` that waits; waiting/wakeup.hpp has the table of waiters.
#pragma once

#include "core/state/descriptor.hpp"

namespace tutti::core {

/// Rolls back an attempt that called retry, and waits until something that the attempt has read changes, or a time
/// limit passes. REQUIRES: d.frame_ is the outermost block.
void wait_in_retry(descriptor& d);

}  // namespace tutti::core
