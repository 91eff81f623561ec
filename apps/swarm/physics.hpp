// One step of one object: look for the nearest neighbour, exchange an impulse with it, move on.
#pragma once

#include "swarm/scene.hpp"

namespace swarm {

/// No object is faster along any axis.
inline constexpr int speed_limit = 128;

/// Runs one step as a transaction. It reads every object in the cells around and writes at most two of them.
/// Returns the attempts that it took.
/// @throws inconsistency
unsigned step(scene& world, object_id self);

}  // namespace swarm
