// All objects at one instant, for the renderer, read in one long read-only transaction.
#pragma once

#include <string>
#include <vector>

#include "swarm/scene.hpp"

namespace swarm {

struct sighting {
    object_id id = no_object;
    std::int32_t cell = 0;  ///< the cell whose list contains the object
    point position;
    velocity speed;
};

using snapshot = std::vector<sighting>;

/// Walks through the grid and records every object.
/// @param into  replaced
/// @return the number of attempts
unsigned take_snapshot(scene& world, const tutti::options& how, snapshot& into);

/// Returns the invariant that a snapshot violates, or an empty string.
[[nodiscard]] std::string violation_in(const snapshot& seen, const scene& world);

}  // namespace swarm
