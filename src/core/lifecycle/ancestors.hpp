// What an open-nested transaction does about the transactions around it: it has them start over where one of them is
// what others wait for.
#pragma once

#include "core/state/ancestry.hpp"

namespace tutti::core {

/// Has the transaction around d start over. REQUIRES: may_restart_ancestor; d is idle, with nothing left to do for its
/// execution.
[[noreturn]] void restart_ancestor(descriptor& d, abort_cause cause);

/// Has the transaction around d start over if it, or an ancestor of it, was asked to die: the one that asked may be
/// what d would wait for. REQUIRES: d is idle.
void heed_ancestors(descriptor& d);

/// After an attempt of an inner transaction met another while the outer one may own something. May have the outer one
/// start over. REQUIRES: d is idle.
void back_off_inside(descriptor& d);

}  // namespace tutti::core
