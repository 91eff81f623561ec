// labyrinth: lays wires in a maze of several layers so that no two use the same cell. The algorithm is transactional
// routing (Watson, Kirkham, Lujan, "A Study of a Transactional Parallel Routing Algorithm", PACT 2007).
//
// A thread copies the maze, layer by layer, finds a way in its copy, and takes all cells of the way in one transaction.
// If a cell is no longer free, the thread starts again. The copy need not be of one instant, because taken cells never
// become free.
//
// Few transactions with large read and write sets. Most of the time is spent searching.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "stamp/program.hpp"
#include "stamp/programs/labyrinth_maze.hpp"
#include "stamp/structures/queue.hpp"

namespace stamp::labyrinth {

/// A wire that was laid, or that was not laid because there was no way.
struct result {
    wire of;
    std::vector<cell_number> way;
};

template <class B>
class router {
    using context = typename B::context;
    using cell = typename B::template shared<std::uint32_t>;

public:
    explicit router(const maze& m) : maze_{m}, owner_{std::make_unique<cell[]>(m.cells())} {
        for (const wire& w : m.wires) {
            owner_[w.from].store(w.number);
            owner_[w.to].store(w.number);
            B::atomically("labyrinth: input", [&](context& t) { queue_.push(t, &w); });
        }
    }

    void work(std::vector<result>& done) {
        searcher search{maze_};
        while (const wire* const w = B::atomically("labyrinth: next", [&](context& t) { return queue_.pop(t); })) {
            bool found = false;
            do {
                copy(search);
                found = search.find(*w);
            } while (found && !take(search.way(), w->number));
            done.push_back({*w, search.way()});
        }
    }

    /// Returns the number of the wire in a cell, or 0. REQUIRES: no other thread runs.
    [[nodiscard]] std::uint32_t owner(cell_number c) const { return owner_[c].load(); }

private:
    void copy(searcher& search) const {
        for (std::size_t layer = 0; layer < maze::layers; ++layer) {
            B::reading("labyrinth: copy", [&](context& t) {
                for (cell_number c = layer * maze_.layer(); c < (layer + 1) * maze_.layer(); ++c) {
                    search.set_cell(c, owner_[c].get(t) == 0);
                }
            });
        }
    }
    /// Returns false, and takes no cell, if a cell is no longer free.
    bool take(const std::vector<cell_number>& way, std::uint32_t number) {
        return B::atomically("labyrinth: take", [&](context& t) {
            for (const cell_number c : way) {
                const std::uint32_t there = owner_[c].get(t);
                if (there != 0 && there != number) return false;
            }
            for (const cell_number c : way) owner_[c].set(t, number);
            return true;
        });
    }

    const maze& maze_;
    std::unique_ptr<cell[]> owner_;
    queue<B, const wire*> queue_;
};

/// Checks that every way leads from one end to the other and belongs only to its wire, and that wires that were not
/// laid have no way.
template <class B>
std::string check(const maze& m, const router<B>& r, const std::vector<std::vector<result>>& results) {
    std::size_t wires = 0, taken = 0, owned = 0;
    searcher search{m};
    for (const auto& by_one : results) {
        for (const auto& [of, way] : by_one) {
            ++wires;
            taken += way.empty() ? 2 : way.size();
            if (way.empty()) {
                for (cell_number c = 0; c < m.cells(); ++c) search.set_cell(c, r.owner(c) == 0);
                if (search.find(of)) return fmt::format("wire {} was not laid, though there is a way", of.number);
                continue;
            }
            if (way.front() != of.to || way.back() != of.from) {
                return fmt::format("wire {} does not lead where it should", of.number);
            }
            for (std::size_t i = 0; i < way.size(); ++i) {
                if (r.owner(way[i]) != of.number) return fmt::format("a cell of wire {} is not its own", of.number);
                bool joined = i == 0;
                m.beside(way[i], [&](cell_number c) { joined |= i > 0 && c == way[i - 1]; });
                if (!joined) return fmt::format("wire {} has a gap", of.number);
            }
        }
    }
    if (wires != m.wires.size()) return fmt::format("{} wires were dealt with instead of {}", wires, m.wires.size());
    for (cell_number c = 0; c < m.cells(); ++c) owned += r.owner(c) != 0;
    if (owned != taken) return fmt::format("{} cells are taken instead of {}", owned, taken);
    return {};
}

template <class B>
run_outcome run(const run_settings& how) {
    const maze m{how.size, how.seed};
    router<B> r{m};
    std::vector<std::vector<result>> results(how.threads);
    run_outcome outcome = measured<B>(how, [&](group_worker& me) { r.work(results[me.index]); });
    outcome.wrong = check(m, r, results);
    return outcome;
}

}  // namespace stamp::labyrinth
