// All objects as they were at one instant: what the renderer needs, in one long read-only transaction.
#pragma once

#include <string>
#include <vector>

#include "swarm/scene.hpp"

namespace swarm {

struct sighting {
    object_id id = nobody;
    std::int32_t cell = 0;  ///< in whose list it was found
    point position;
    velocity speed;
};

using snapshot = std::vector<sighting>;

/// Walks through the grid and notes every object.
/// @param into  replaced
/// @return the attempts that it took
unsigned take_snapshot(scene& world, const tutti::options& how, snapshot& into);

/// Says which invariant of the scene a snapshot breaks; empty if none.
[[nodiscard]] std::string violation_in(const snapshot& seen, const scene& world);

}  // namespace swarm
