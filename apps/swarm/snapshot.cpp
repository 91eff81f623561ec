#include "swarm/snapshot.hpp"

#include <fmt/format.h>

namespace swarm {

unsigned take_snapshot(scene& world, const tutti::options& how, snapshot& into) {
    // One element more than there are objects, so that an extra object is detected.
    into.resize(static_cast<std::size_t>(world.size()) + 1);
    std::size_t found = 0;
    const unsigned attempts = tutti::atomically(tutti::no_unwind, how, [&](tutti::tx& t) {
        found = 0;
        for (int cell = 0; cell < world.cells().cells() && found < into.size(); ++cell) {
            world.for_each_in(t, cell, [&](object_id id) {
                if (found == into.size()) return;
                into[found++] = {id, cell, world[id].position.get(t), world[id].speed.get(t)};
            });
        }
        return t.attempt();
    });
    into.resize(found);
    return attempts;
}

std::string violation_in(const snapshot& seen, const scene& world) {
    std::vector<bool> present(static_cast<std::size_t>(world.size()));
    offset momentum;
    for (const sighting& s : seen) {
        if (present[static_cast<std::size_t>(s.id)]) return fmt::format("object {} was seen twice", s.id);
        present[static_cast<std::size_t>(s.id)] = true;
        if (const int cell = world.cells().cell_of(s.position); cell != s.cell) {
            return fmt::format("object {} was seen in cell {}, but it is at a place in cell {}", s.id, s.cell, cell);
        }
        momentum = {momentum.x + s.speed.x, momentum.y + s.speed.y, momentum.z + s.speed.z};
    }
    if (seen.size() != present.size()) return fmt::format("{} of {} objects were seen", seen.size(), present.size());
    if (const offset& m = world.momentum(); momentum != m) {
        return fmt::format("the momentum is ({}, {}, {}) instead of ({}, {}, {})", momentum.x, momentum.y, momentum.z,
                           m.x, m.y, m.z);
    }
    return {};
}

}  // namespace swarm
