// kmeans: assigns points to clusters (MacQueen 1967), repeatedly, until hardly any point moves to another cluster.
//
// In each round a thread draws some points, finds the nearest centre of each, and adds it to the cluster's sum in one
// transaction. Most of the time is spent outside of transactions. The number of clusters determines the frequency of
// conflicts: 40 give low contention, 15 give high contention.
//
// Coordinates are integers, so that sums do not depend on the order, and the result equals that of one thread.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "stamp/program.hpp"
#include "stamp/random.hpp"

namespace stamp::kmeans {

inline constexpr std::size_t dimensions = 24;
inline constexpr std::size_t max_rounds = 40;
inline constexpr std::size_t few_moves = 2'000;  // the end is reached when at most one point in this number has moved

using point = std::array<std::int32_t, dimensions>;
using sums = std::array<std::int64_t, dimensions>;

/// Makes points around some centres, so that there are clusters to find.
[[nodiscard]] inline std::vector<point> make_points(std::size_t count, std::uint64_t seed) {
    constexpr std::size_t heaps = 16;
    random_source random{seed};
    std::array<point, heaps> middles;
    for (point& m : middles) {
        for (auto& x : m) x = random.below(60'000);
    }
    std::vector<point> points(count);
    for (point& p : points) {
        p = middles[random.below(heaps)];
        for (auto& x : p) x += random.below(6'000) + random.below(6'000) - 6'000;
    }
    return points;
}

[[nodiscard]] inline std::size_t nearest(const std::vector<point>& centres, const point& p) {
    std::size_t best = 0;
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    for (std::size_t c = 0; c < centres.size(); ++c) {
        std::int64_t distance = 0;
        for (std::size_t d = 0; d < dimensions; ++d) {
            const std::int64_t apart = centres[c][d] - p[d];
            distance += apart * apart;
        }
        if (distance < least) {
            least = distance;
            best = c;
        }
    }
    return best;
}

/// Moves the centre of a cluster; an empty cluster keeps its centre.
inline void move_centre(point& centre, const sums& sum, std::int64_t members) {
    if (members == 0) return;
    for (std::size_t d = 0; d < dimensions; ++d) centre[d] = static_cast<std::int32_t>(sum[d] / members);
}

struct clustering {
    clustering(const std::vector<point>& points, std::size_t clusters)
        : centres(points.begin(), points.begin() + static_cast<std::ptrdiff_t>(clusters)),
          cluster_of(points.size(), clusters) {}

    bool operator==(const clustering&) const = default;
    /// Returns true if another round is needed.
    [[nodiscard]] bool continues(std::size_t moves) const {
        return moves * few_moves > cluster_of.size() && rounds < max_rounds;
    }

    std::vector<point> centres;
    std::vector<std::size_t> cluster_of;  // for each point
    std::size_t rounds = 0;
};

/// Computes the expected result on one thread, without the code under test.
[[nodiscard]] inline clustering expected(const std::vector<point>& points, std::size_t clusters) {
    clustering c{points, clusters};
    std::size_t moves = points.size();
    while (c.continues(moves)) {
        std::vector<sums> sum(clusters, sums{});
        std::vector<std::int64_t> members(clusters);
        moves = 0;
        for (std::size_t i = 0; i < points.size(); ++i) {
            const std::size_t to = nearest(c.centres, points[i]);
            moves += c.cluster_of[i] != to;
            c.cluster_of[i] = to;
            ++members[to];
            for (std::size_t d = 0; d < dimensions; ++d) sum[to][d] += points[i][d];
        }
        for (std::size_t k = 0; k < clusters; ++k) move_centre(c.centres[k], sum[k], members[k]);
        ++c.rounds;
    }
    return c;
}

template <class B>
class clusterer {
    using context = typename B::context;
    template <class T>
    using shared = typename B::template shared<T>;

public:
    clusterer(const std::vector<point>& points, std::size_t clusters)
        : points_{points}, result_{points, clusters}, heaps_{std::make_unique<heap[]>(clusters)} {
        moves_.store(points.size());
    }

    void work(group_worker& me) {
        while (result_.continues(moves_.load())) {
            me.wait_for_all();  // all threads have checked the condition
            if (me.index == 0) start_round();
            me.wait_for_all();
            assign();
            me.wait_for_all();
            if (me.index == 0) end_round();
            me.wait_for_all();
        }
    }

    [[nodiscard]] const clustering& result() const { return result_; }

private:
    static constexpr std::size_t drawn_at_once = 3;

    struct heap {
        shared<std::int64_t> members{0};
        std::array<shared<std::int64_t>, dimensions> sum;
    };

    void start_round() {
        next_.store(0);
        moves_.store(0);
        for (std::size_t k = 0; k < result_.centres.size(); ++k) {
            heaps_[k].members.store(0);
            for (auto& s : heaps_[k].sum) s.store(0);
        }
    }
    void assign() {
        std::size_t moves = 0;
        for (;;) {
            const std::size_t first = B::atomically("kmeans: draw", [&](context& t) {
                const std::size_t n = next_.get(t);
                next_.set(t, n + drawn_at_once);
                return n;
            });
            if (first >= points_.size()) break;
            for (std::size_t i = first; i < std::min(first + drawn_at_once, points_.size()); ++i) {
                const point& p = points_[i];
                const std::size_t to = nearest(result_.centres, p);
                moves += result_.cluster_of[i] != to;
                result_.cluster_of[i] = to;
                B::atomically("kmeans: add", [&](context& t) { add(t, heaps_[to], p); });
            }
        }
        B::atomically("kmeans: moves", [&](context& t) { moves_.set(t, moves_.get(t) + moves); });
    }
    static void add(context& t, heap& to, const point& p) {
        to.members.set(t, to.members.get(t) + 1);
        for (std::size_t d = 0; d < dimensions; ++d) to.sum[d].set(t, to.sum[d].get(t) + p[d]);
    }
    void end_round() {
        for (std::size_t k = 0; k < result_.centres.size(); ++k) {
            sums sum;
            for (std::size_t d = 0; d < dimensions; ++d) sum[d] = heaps_[k].sum[d].load();
            move_centre(result_.centres[k], sum, heaps_[k].members.load());
        }
        ++result_.rounds;
    }

    const std::vector<point>& points_;
    clustering result_;
    std::unique_ptr<heap[]> heaps_;
    alignas(64) shared<std::size_t> next_{0};
    alignas(64) shared<std::size_t> moves_{0};
};

inline std::string check(const clustering& found, const clustering& wanted) {
    if (found.rounds != wanted.rounds) {
        return fmt::format("it took {} rounds instead of {}", found.rounds, wanted.rounds);
    }
    if (found.centres != wanted.centres) return "the centres are not those that one thread finds";
    if (found.cluster_of != wanted.cluster_of) return "some points are not in the clusters that one thread finds";
    return {};
}

template <class B, std::size_t Clusters>
run_outcome run(const run_settings& how) {
    const std::vector<point> points = make_points(how.size, how.seed);
    clusterer<B> c{points, Clusters};
    run_outcome outcome = measured<B>(how, [&](group_worker& me) { c.work(me); });
    outcome.wrong = check(c.result(), expected(points, Clusters));
    return outcome;
}

}  // namespace stamp::kmeans
