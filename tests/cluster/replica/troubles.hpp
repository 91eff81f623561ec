// What goes wrong with a group, one thing at a time, and what is well again.
#pragma once

#include "cluster/replica/group.hpp"

namespace tutti::cluster::replica::testing {

/// `membership`: also members that join and leave.
void hurt(agenda& events, group& of, bool membership);
/// A member is cut off for a while; or, with `clocks`, its clock goes wrong.
void hurt_network(agenda& events, group& of, bool clocks);
void make_well(group& of);

}  // namespace tutti::cluster::replica::testing
