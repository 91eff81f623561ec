// The functions by which an open-nested transaction restarts the transactions around it, if other contexts wait for one
// of these.
#pragma once

#include "core/state/ancestry.hpp"

namespace tutti::core {

/// Makes the transaction around d start over. REQUIRES: may_restart_ancestor; d is idle, and its execution has nothing
/// left to do.
[[noreturn]] void restart_ancestor(descriptor& d, abort_cause cause);

/// Makes the transaction around d start over if that transaction, or an ancestor of it, was asked to abort. Without
/// this check, d might wait for the very transaction that asked. REQUIRES: d is idle.
void check_ancestors(descriptor& d);

/// Backs off after a conflict of an inner transaction, while the outer transaction may own something. May make
/// the outer transaction start over. REQUIRES: d is idle.
void back_off_inside(descriptor& d);

}  // namespace tutti::core
