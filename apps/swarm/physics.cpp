#include "swarm/physics.hpp"

#include <algorithm>
#include <cstdlib>
#include <optional>

namespace swarm {
namespace {

/// The attraction to a neighbour in each step.
constexpr int pull = 2;
/// In each step, the difference between two courses shrinks by one part in this number.
constexpr int alignment = 16;

struct neighbour {
    object_id who = no_object;
    offset way_there;
    std::int64_t square = 0;  ///< squared distance
};

neighbour nearest(tutti::tx& t, scene& world, object_id self, point here) {
    const std::int64_t reach = world.cells().cell_side();
    neighbour best{no_object, {}, reach * reach};
    world.cells().around(here, [&](int cell) {
        world.for_each_in(t, cell, [&](object_id other) {
            if (other == self) return;
            const offset to = way(here, world[other].position.get(t));
            const std::int64_t square = dot(to, to);
            if (square < best.square) best = {other, to, square};
        });
    });
    return best;
}

/// Returns the impulse that an object gets from its neighbour, and that the neighbour loses. Balls of equal mass that
/// touch and approach exchange their speeds along the line between them. Balls of a flock attract each other and align
/// their courses.
offset impulse(object_id self, velocity own, const neighbour& from, velocity other, int radius) {
    const offset& u = from.way_there;
    const offset relative = difference(other, own);
    const std::int64_t touching = std::int64_t{2} * radius;
    if (from.square < touching * touching) {
        const std::int64_t receding = dot(relative, u);
        if (receding >= 0 || from.square == 0) return {};
        return {u.x * receding / from.square, u.y * receding / from.square, u.z * receding / from.square};
    }
    if (scene::flock_of(self) != scene::flock_of(from.who)) return {};
    const std::int64_t longest = std::max({std::abs(u.x), std::abs(u.y), std::abs(u.z)});
    const auto along = [&](std::int64_t distance, std::int64_t faster) {
        return distance * pull / longest + faster / alignment;
    };
    return {along(u.x, relative.x), along(u.y, relative.y), along(u.z, relative.z)};
}

/// Returns nothing if the result would be too fast.
std::optional<velocity> changed(velocity v, const offset& by, int sign) {
    const auto apply = [&](std::int64_t speed, std::int64_t more) { return speed + sign * more; };
    const offset sum{apply(v.x, by.x), apply(v.y, by.y), apply(v.z, by.z)};
    if (std::max({std::abs(sum.x), std::abs(sum.y), std::abs(sum.z)}) > speed_limit) return std::nullopt;
    return velocity{static_cast<std::int16_t>(sum.x), static_cast<std::int16_t>(sum.y),
                    static_cast<std::int16_t>(sum.z)};
}

}  // namespace

unsigned step(scene& world, object_id self) {
    return tutti::atomically(tutti::no_unwind, {.name = "physics"}, [&](tutti::tx& t) {
        object& me = world[self];
        const point here = me.position.get(t);
        velocity speed = me.speed.get(t);
        if (const neighbour other = nearest(t, world, self, here); other.who != no_object) {
            const velocity its_speed = world[other.who].speed.get(t);
            const offset by = impulse(self, speed, other, its_speed, world.radius());
            const auto mine = changed(speed, by, 1);
            const auto its = changed(its_speed, by, -1);
            if (by != offset{} && mine && its) {
                me.speed.set(t, *mine);
                world[other.who].speed.set(t, *its);
                speed = *mine;
            }
        }
        world.move(t, self, here, moved(here, speed));
        return t.attempt();
    });
}

}  // namespace swarm
