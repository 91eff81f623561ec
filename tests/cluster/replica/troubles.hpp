// What goes wrong with a group, one thing at a time, and what is well again.
#pragma once

#include "cluster/replica/group.hpp"

namespace tutti::cluster::replica::testing {

/// `membership`: also members that join and leave.
void hurt(agenda& events, group& of, bool membership);
void make_well(group& of);

}  // namespace tutti::cluster::replica::testing
