#include "swarm/scene.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <random>

#include <fmt/format.h>

#include "swarm/physics.hpp"

namespace swarm {
namespace {

constexpr int finest_grid_bits = 5;

/// Returns a radius with which all balls fill a constant part of space, and touching balls are in neighbouring cells.
int radius_of(int objects, const grid& cells) {
    const double apart = space_side / std::cbrt(objects);
    return std::min(static_cast<int>(apart / 4.8), cells.cell_side() / 3);
}

/// The start and the course of a flock.
struct flock {
    point centre;
    velocity course;
};

class placement {
public:
    explicit placement(std::uint64_t seed) : random_{seed} {
        for (flock& f : flocks_) f = {around(point{}, space_side / 2), around(velocity{}, speed_limit / 4)};
    }
    [[nodiscard]] point position(int flock) {
        return around(flocks_[static_cast<std::size_t>(flock)].centre, space_side / 5);
    }
    [[nodiscard]] velocity speed(int flock) {
        return around(flocks_[static_cast<std::size_t>(flock)].course, speed_limit / 4);
    }

private:
    int within(int reach) { return std::uniform_int_distribution{-reach, reach - 1}(random_); }
    template <class Triple>
    Triple around(Triple centre, int reach) {
        using number = decltype(centre.x);
        return {static_cast<number>(centre.x + within(reach)), static_cast<number>(centre.y + within(reach)),
                static_cast<number>(centre.z + within(reach))};
    }

    std::mt19937_64 random_;
    std::array<flock, flock_count> flocks_;
};

}  // namespace

grid::grid(int objects) {
    while (bits_ < finest_grid_bits && 8 * cells() <= objects) ++bits_;
}

scene::scene(int objects, std::uint64_t seed)
    : grid_{objects},
      radius_{radius_of(objects, grid_)},
      objects_(static_cast<std::size_t>(objects)),
      first_(static_cast<std::size_t>(grid_.cells())) {
    for (tutti::var<object_id>& first : first_) first.store(no_object);
    placement place{seed};
    for (object_id id = 0; id < size(); ++id) {
        const point where = place.position(flock_of(id));
        const velocity speed = place.speed(flock_of(id));
        tutti::atomically([&](tutti::tx& t) {
            (*this)[id].position.set(t, where);
            (*this)[id].speed.set(t, speed);
            link(t, id, grid_.cell_of(where));
        });
        momentum_ = {momentum_.x + speed.x, momentum_.y + speed.y, momentum_.z + speed.z};
    }
}

void scene::move(tutti::tx& t, object_id id, point from, point to) {
    (*this)[id].position.set(t, to);
    const int old_cell = grid_.cell_of(from);
    const int new_cell = grid_.cell_of(to);
    if (old_cell == new_cell) return;
    unlink(t, id, old_cell);
    link(t, id, new_cell);
}

void scene::link(tutti::tx& t, object_id id, int cell) {
    tutti::var<object_id>& first = first_[static_cast<std::size_t>(cell)];
    (*this)[id].next.set(t, first.get(t));
    first.set(t, id);
}

void scene::unlink(tutti::tx& t, object_id id, int cell) {
    tutti::var<object_id>* place = &first_[static_cast<std::size_t>(cell)];
    for (int seen = 0; seen <= size(); ++seen) {
        const object_id at = place->get(t);
        if (at == no_object) break;
        tutti::var<object_id>& next = (*this)[at].next;
        if (at == id) {
            place->set(t, next.get(t));
            return;
        }
        place = &next;
    }
    throw inconsistency{fmt::format("object {} is not in the list of its cell {}", id, cell)};
}

}  // namespace swarm
