// yada: refines a triangle mesh until no angle is below 20 degrees (Ruppert, "A Delaunay Refinement Algorithm for
// Quality 2-Dimensional Mesh Generation", J. Algorithms 18(3), 1995).
//
// A thread takes the worst triangle from a heap. The centre of its circumcircle becomes a new corner, and the triangles
// around it, the cavity, are replaced. If the corner would be too near to the border, an edge of the border is halved
// instead. Bad triangles among the new ones go to the heap.
//
// Long transactions that read and write much. Two of them conflict if their cavities overlap.
#pragma once

#include <algorithm>
#include <string>
#include <unordered_set>
#include <vector>

#include <fmt/format.h>

#include "stamp/program.hpp"
#include "stamp/programs/yada_input.hpp"
#include "stamp/programs/yada_mesh.hpp"
#include "stamp/structures/heap.hpp"

namespace stamp::yada {

/// Returns all triangles of a mesh. REQUIRES: no thread changes the mesh.
template <class B>
std::vector<triangle<B>*> all_of(const mesh<B>& m) {
    std::vector<triangle<B>*> found{m.at_origin()};
    std::unordered_set<const triangle<B>*> seen{found.front()};
    for (std::size_t i = 0; i < found.size(); ++i) {
        for (const auto& link : found[i]->neighbour) {
            triangle<B>* const n = link.load();
            if (n != nullptr && seen.insert(n).second) found.push_back(n);
        }
    }
    return found;
}

template <class B>
using bad_ones = heap<B, triangle<B>*>;

/// The work of one thread.
template <class B>
class refiner {
    using context = typename B::context;
    using element = triangle<B>;
    using edge = typename mesh<B>::edge;

public:
    refiner(mesh<B>& where, bad_ones<B>& bad) : mesh_{where}, bad_{bad} {}

    /// Inserts one point of the input.
    void insert(const point& p) {
        B::atomically("yada: input", [&](context& t) {
            element* const from = tools_.fresh.empty() ? mesh_.at_origin(t) : tools_.fresh[0];
            mesh_.explore(t, tools_, mesh_.locate(t, from, p).last.of, p);
            mesh_.fill(t, tools_, p);
        });
    }
    /// Works until the heap is empty.
    void work() {
        while (element* const e = B::atomically("yada: take", [&](context& t) { return bad_.pop(t); })) {
            B::atomically("yada: refine", [&](context& t) { refine(t, e); });
            if (!again_.empty()) B::atomically("yada: queue", [&](context& t) { queue(t); });
        }
    }

private:
    void refine(context& t, element* e) {
        again_.clear();
        if (e->is_removed.get(t)) return B::destroy(t, e);
        e->waits.set(t, false);
        if (!insert_for(t, e)) return;
        for (element* f : tools_.fresh) {
            if (is_bad(f->v)) look_again(t, f);
        }
        // The triangle is still there if a distant border edge was halved.
        if (std::find(tools_.cavity.begin(), tools_.cavity.end(), e) == tools_.cavity.end()) look_again(t, e);
    }
    /// Inserts a point because of a bad triangle. Returns true if a point was inserted.
    bool insert_for(context& t, element* e) {
        const point p = centre(e->v);
        const auto place = mesh_.locate(t, e, p);
        if (!place.inside) return halve(t, place.last);
        mesh_.explore(t, tools_, place.last.of, p);
        for (const edge& r : tools_.rim) {
            if (on_border(r.begin(), r.end()) && encroaches(p, r.begin(), r.end())) return halve(t, edge{r});
        }
        if (tools_.cavity.empty()) return false;  // the point is already a corner
        mesh_.fill(t, tools_, p);
        return true;
    }
    bool halve(context& t, const edge& border) {
        const point a = border.begin(), b = border.end(), middle{(a.x + b.x) / 2, (a.y + b.y) / 2};
        if (middle == a || middle == b) return false;
        mesh_.explore(t, tools_, border.of, middle);
        mesh_.fill(t, tools_, middle);
        return true;
    }
    void look_again(context& t, element* e) {
        e->waits.set(t, true);
        again_.push(e);
    }
    void queue(context& t) {
        for (element* e : again_) bad_.push(t, badness(e->v), e);
    }

    mesh<B>& mesh_;
    bad_ones<B>& bad_;
    typename mesh<B>::workshop tools_;
    scratch<element*> again_;
};

/// Checks that the mesh is the Delaunay triangulation of its corners, that it covers the square, and that no angle is
/// too small.
template <class B>
std::string check(const std::vector<triangle<B>*>& all) {
    std::int64_t covered = 0;
    for (const triangle<B>* e : all) {
        if (e->is_removed.load()) return "a removed triangle is still in the mesh";
        if (area(e->v[0], e->v[1], e->v[2]) <= 0) return "a triangle is not counter-clockwise";
        covered += area(e->v[0], e->v[1], e->v[2]);
        if (is_bad(e->v)) return fmt::format("an angle is too small, at {}, {}", e->v[0].x, e->v[0].y);
        for (std::size_t i = 0; i < 3; ++i) {
            const triangle<B>* const n = e->neighbour[i].load();
            if (n == nullptr) {
                if (!on_border(e->v[i], e->end_of(i))) return "the mesh has a hole";
                continue;
            }
            const std::size_t back = n->side_from(e->end_of(i));
            if (n->neighbour[back].load() != e || !(n->end_of(back) == e->v[i])) return "neighbours do not agree";
            if (in_circle(e->v, n->v[(back + 2) % 3])) return "a corner lies in the circle of another triangle";
        }
    }
    if (covered != 2 * side * side) return "the triangles do not cover the square";
    return {};
}

template <class B>
run_outcome run(const run_settings& how) {
    using context = typename B::context;
    mesh<B> m;
    bad_ones<B> bad;
    {
        refiner<B> first{m, bad};
        for (const point& p : make_points(how.size, how.seed)) first.insert(p);
    }
    for (triangle<B>* e : all_of(m)) {
        if (!is_bad(e->v)) continue;
        B::atomically("yada: input", [&](context& t) {
            e->waits.set(t, true);
            bad.push(t, badness(e->v), e);
        });
    }
    run_outcome outcome = measured<B>(how, [&](group_worker&) { refiner<B>{m, bad}.work(); });
    const std::vector<triangle<B>*> all = all_of(m);
    outcome.wrong = check<B>(all);
    for (triangle<B>* e : all) delete e;
    return outcome;
}

}  // namespace stamp::yada
