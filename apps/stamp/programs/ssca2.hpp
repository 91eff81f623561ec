// ssca2: builds a large directed graph from the list of its edges, as arrays of neighbours. The program is kernel 1 of
// the Scalable Synthetic Compact Applications (Bader and Madduri, HiPC 2005).
//
//   1  counts the edges that leave and enter each node
//   2  one thread lays out the arrays
//   3  puts every edge into the next free place of both of its nodes
//
// A great many tiny transactions with few conflicts.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "stamp/program.hpp"
#include "stamp/random.hpp"

namespace stamp::ssca2 {

inline constexpr std::size_t edges_for_each_node = 8;

struct edge {
    std::uint32_t ends[2];  // from, to
};

/// Makes groups of nodes. Each node has edges to many others of its group; there are fewer edges between groups.
[[nodiscard]] inline std::vector<edge> make_edges(std::size_t nodes, std::uint64_t seed) {
    constexpr std::size_t max_group_size = 32;
    constexpr unsigned percent_between = 20;
    random_source random{seed};
    std::vector<edge> edges;
    for (std::size_t first = 0; first < nodes;) {
        const std::size_t size = std::min(1 + random.below(max_group_size), nodes - first);
        for (std::size_t i = 0; i < size * edges_for_each_node; ++i) {
            const std::size_t from = first + random.below(size);
            const std::size_t to = random.percent(percent_between) ? random.below(nodes) : first + random.below(size);
            edges.push_back({{static_cast<std::uint32_t>(from), static_cast<std::uint32_t>(to)}});
        }
        first += size;
    }
    random.shuffle(edges);
    return edges;
}

template <class B>
class graph {
    using context = typename B::context;
    template <class T>
    using shared = typename B::template shared<T>;

    /// The neighbours of all nodes in one direction, node by node.
    struct half {
        half(std::size_t nodes, std::size_t edges)
            : filled{std::make_unique<shared<std::size_t>[]>(nodes)},
              first(nodes + 1),
              neighbours{std::make_unique<shared<std::uint32_t>[]>(edges)} {}
        std::unique_ptr<shared<std::size_t>[]> filled;  // for each node: counted, and later filled edges
        std::vector<std::size_t> first;                 // place in `neighbours`
        std::unique_ptr<shared<std::uint32_t>[]> neighbours;
    };

public:
    graph(std::size_t nodes, const std::vector<edge>& edges)
        : nodes_{nodes}, edges_{edges}, halves_{half{nodes, edges.size()}, half{nodes, edges.size()}} {}

    void work(group_worker& me) {
        const auto [first, last] = me.share(edges_.size());
        for (std::size_t i = first; i < last; ++i) {
            for (std::size_t d = 0; d < 2; ++d) count(halves_[d], edges_[i].ends[d]);
        }
        me.wait_for_all();
        if (me.index == 0) {
            for (half& h : halves_) lay_out(h);
        }
        me.wait_for_all();
        for (std::size_t i = first; i < last; ++i) {
            for (std::size_t d = 0; d < 2; ++d) put(halves_[d], edges_[i].ends[d], edges_[i].ends[1 - d]);
        }
    }

    /// Returns the edges of the graph, seen from their start (0) or end (1). REQUIRES: no other thread runs.
    [[nodiscard]] std::vector<edge> seen_from(std::size_t d) const {
        const half& h = halves_[d];
        std::vector<edge> found;
        for (std::size_t n = 0; n < nodes_; ++n) {
            for (std::size_t i = 0; i < h.filled[n].load(); ++i) {
                edge e{};
                e.ends[d] = static_cast<std::uint32_t>(n);
                e.ends[1 - d] = h.neighbours[h.first[n] + i].load();
                found.push_back(e);
            }
        }
        return found;
    }

private:
    static void count(half& h, std::uint32_t node) {
        B::atomically("ssca2: count", [&](context& t) { h.filled[node].set(t, h.filled[node].get(t) + 1); });
    }
    void lay_out(half& h) const {
        for (std::size_t n = 0; n < nodes_; ++n) {
            h.first[n + 1] = h.first[n] + h.filled[n].load();
            h.filled[n].store(0);
        }
    }
    static void put(half& h, std::uint32_t node, std::uint32_t neighbour) {
        B::atomically("ssca2: put", [&](context& t) {
            const std::size_t place = h.filled[node].get(t);
            h.neighbours[h.first[node] + place].set(t, neighbour);
            h.filled[node].set(t, place + 1);
        });
    }

    const std::size_t nodes_;
    const std::vector<edge>& edges_;
    std::array<half, 2> halves_;
};

inline std::string check(std::vector<edge> wanted, std::vector<edge> found) {
    const auto key = [](const edge& e) { return std::uint64_t{e.ends[0]} << 32 | e.ends[1]; };
    std::ranges::sort(wanted, {}, key);
    std::ranges::sort(found, {}, key);
    if (std::ranges::equal(wanted, found, {}, key, key)) return {};
    return fmt::format("the graph's {} edges are not the {} of the list", found.size(), wanted.size());
}

template <class B>
run_outcome run(const run_settings& how) {
    const std::vector<edge> edges = make_edges(how.size, how.seed);
    graph<B> g{how.size, edges};
    run_outcome outcome = measured<B>(how, [&](group_worker& me) { g.work(me); });
    for (std::size_t d = 0; d < 2 && outcome.wrong.empty(); ++d) outcome.wrong = check(edges, g.seen_from(d));
    return outcome;
}

}  // namespace stamp::ssca2
