// The objects of the simulation and the grid by which they find their neighbours, all in transactional variables.
//
// Invariants, in every committed state:
//   1. the sum of all velocities equals the sum at the start: every impulse is taken from one object and given to
//      another in the same transaction;
//   2. every object is in the list of exactly one cell of the grid, the one that contains its position.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <vector>

#include <tutti/tutti.hpp>

#include "swarm/geometry.hpp"

namespace swarm {

using object_id = std::int32_t;
inline constexpr object_id no_object = -1;

/// The error that the scene violates an invariant: transactions were not atomic.
class inconsistency : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

struct object {
    tutti::var<point> position;
    tutti::var<velocity> speed;
    tutti::var<object_id> next{no_object};  ///< in the list of its cell
};

/// Maps points to cells. The number of cells along each side is a power of two, at least four, so that the 27 cells
/// around a point differ. There are one to eight objects for each cell.
class grid {
public:
    explicit grid(int objects);

    [[nodiscard]] int cells() const noexcept { return 1 << (3 * bits_); }
    [[nodiscard]] int cell_side() const noexcept { return space_side >> bits_; }
    [[nodiscard]] int cell_of(point p) const noexcept { return index(p.x >> shift(), p.y >> shift(), p.z >> shift()); }

    /// Calls `visit(cell)` for the cell of p and the 26 around it.
    template <class F>
    void around(point p, F visit) const {
        for (int dx = -1; dx <= 1; ++dx) {
            for (int dy = -1; dy <= 1; ++dy) {
                for (int dz = -1; dz <= 1; ++dz) {
                    visit(index((p.x >> shift()) + dx, (p.y >> shift()) + dy, (p.z >> shift()) + dz));
                }
            }
        }
    }

private:
    [[nodiscard]] int shift() const noexcept { return 16 - bits_; }
    /// Wraps indices beyond the last cell of a side to the first ones.
    [[nodiscard]] int index(int x, int y, int z) const noexcept {
        const int mask = (1 << bits_) - 1;
        return ((x & mask) << (2 * bits_)) | ((y & mask) << bits_) | (z & mask);
    }

    int bits_ = 2;
};

inline constexpr int flock_count = 6;

/// Thread safety: any thread may call the functions with a `tx`; the other data is constant after construction.
class scene {
public:
    /// Creates flocks of objects with a common course at random places. The same seed creates the same scene.
    scene(int objects, std::uint64_t seed);

    [[nodiscard]] int size() const noexcept { return static_cast<int>(objects_.size()); }
    [[nodiscard]] object& operator[](object_id id) noexcept { return objects_[static_cast<std::size_t>(id)]; }
    [[nodiscard]] const swarm::grid& cells() const noexcept { return grid_; }
    /// Returns the constant sum of all velocities.
    [[nodiscard]] const offset& momentum() const noexcept { return momentum_; }
    /// Returns the radius of the objects, which are balls. Twice this radius is less than the side of a cell.
    [[nodiscard]] int radius() const noexcept { return radius_; }
    [[nodiscard]] static int flock_of(object_id id) noexcept { return id % flock_count; }

    /// Calls `visit(id)` for every object in a cell. Stops after more objects than exist, so that a cyclic list is
    /// detected instead of being followed forever.
    template <class F>
    void for_each_in(tutti::tx& t, int cell, F visit) {
        object_id id = first_[static_cast<std::size_t>(cell)].get(t);
        for (int seen = 0; id != no_object && seen <= size(); ++seen) {
            visit(id);
            id = (*this)[id].next.get(t);
        }
    }

    /// Sets the position of an object, and moves the object to the list of another cell if necessary.
    /// @throws inconsistency  if the object is not in the list of the cell that it leaves
    void move(tutti::tx& t, object_id id, point from, point to);

private:
    void link(tutti::tx& t, object_id id, int cell);
    void unlink(tutti::tx& t, object_id id, int cell);

    swarm::grid grid_;
    int radius_;
    std::vector<object> objects_;
    std::vector<tutti::var<object_id>> first_;  ///< by cell
    offset momentum_;
};

}  // namespace swarm
