// One step of one object: finds the nearest neighbour, exchanges an impulse with it, and moves on.
#pragma once

#include "swarm/scene.hpp"

namespace swarm {

/// The maximum speed of an object along each axis.
inline constexpr int speed_limit = 128;

/// Runs one step as a transaction. The transaction reads every object in the surrounding cells and writes at most two
/// of them. Returns the number of attempts.
/// @throws inconsistency
unsigned step(scene& world, object_id self);

}  // namespace swarm
