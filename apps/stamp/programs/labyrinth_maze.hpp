// The maze of labyrinth, and the search for a way by one thread (Lee, "An Algorithm for Path Connections and Its
// Applications", IRE Trans. Electronic Computers 10(3), 1961).
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <unordered_set>
#include <vector>

#include "stamp/random.hpp"

namespace stamp::labyrinth {

using cell_number = std::size_t;

/// A wire to lay from one cell to another. A wire's number is above 0.
struct wire {
    std::uint32_t number;
    cell_number from, to;
};

struct maze {
    static constexpr std::size_t layers = 5;

    /// Makes a square maze that becomes fairly full.
    maze(std::size_t count, std::uint64_t seed)
        : side{static_cast<std::size_t>(8 + 10 * std::sqrt(static_cast<double>(count)))} {
        random_source random{seed};
        std::unordered_set<cell_number> ends;
        const auto draw = [&] {
            cell_number c = random.below(cells());
            while (!ends.insert(c).second) c = random.below(cells());
            return c;
        };
        for (std::size_t i = 0; i < count; ++i) {
            const cell_number from = draw();
            wires.push_back({static_cast<std::uint32_t>(i + 1), from, draw()});
        }
    }

    [[nodiscard]] std::size_t layer() const { return side * side; }
    [[nodiscard]] std::size_t cells() const { return layers * layer(); }

    /// Calls f(cell) for all neighbours of this cell.
    template <class F>
    void beside(cell_number c, const F& f) const {
        const std::size_t x = c % side, y = c / side % side, z = c / layer();
        if (x > 0) f(c - 1);
        if (x + 1 < side) f(c + 1);
        if (y > 0) f(c - side);
        if (y + 1 < side) f(c + side);
        if (z > 0) f(c - layer());
        if (z + 1 < layers) f(c + layer());
    }

    const std::size_t side;
    std::vector<wire> wires;
};

/// One thread's view of the maze, for searching ways.
class searcher {
public:
    explicit searcher(const maze& m) : maze_{m}, steps_(m.cells()) {}

    /// Sets whether a cell is free, before a search.
    void set_cell(cell_number c, bool free) { steps_[c] = free ? unknown : wall; }

    /// Finds a shortest way; both ends count as free. Returns true if there is one; way() returns it.
    bool find(const wire& w) {
        way_.clear();
        wave_.assign(1, w.from);
        steps_[w.from] = 0;
        steps_[w.to] = unknown;
        for (std::size_t next = 0; next < wave_.size() && steps_[w.to] == unknown; ++next) {
            const cell_number here = wave_[next];
            maze_.beside(here, [&](cell_number c) {
                if (steps_[c] != unknown) return;
                steps_[c] = steps_[here] + 1;
                wave_.push_back(c);
            });
        }
        if (steps_[w.to] == unknown) return false;
        way_.push_back(w.to);
        while (way_.back() != w.from) {
            const std::int32_t before = steps_[way_.back()] - 1;
            cell_number towards = way_.back();
            maze_.beside(way_.back(), [&](cell_number c) {
                if (steps_[c] == before) towards = c;
            });
            way_.push_back(towards);
        }
        return true;
    }
    /// Returns the way from the end to the beginning.
    [[nodiscard]] const std::vector<cell_number>& way() const { return way_; }

private:
    static constexpr std::int32_t unknown = -1, wall = -2;

    const maze& maze_;
    std::vector<std::int32_t> steps_;  // number of steps from the beginning
    std::vector<cell_number> wave_, way_;
};

}  // namespace stamp::labyrinth
