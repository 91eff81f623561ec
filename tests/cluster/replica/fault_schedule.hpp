// Injects faults into a group, one at a time, and ends them.
#pragma once

#include "cluster/replica/group.hpp"

namespace tutti::cluster::replica::testing {

/// Injects a random fault. With `membership`, members may also join and leave.
void inject_fault(event_queue& events, group& of, bool membership);
/// Cuts a member off for a while. With `clocks`, may instead disturb its clock.
void inject_network_fault(event_queue& events, group& of, bool clocks);
void heal(group& of);

}  // namespace tutti::cluster::replica::testing
