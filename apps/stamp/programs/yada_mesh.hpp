// A Delaunay triangulation of a square that transactions refine.
//
//   1. Corners are counter-clockwise and constant. neighbour[i] shares the edge from corner i to the next one, and
//      refers back to this triangle. It is null if that edge is on the border of the square.
//   2. No circle through the corners of a triangle has another corner inside.
//   3. A triangle that leaves the mesh is destroyed. If the triangle still waits for a thread to examine it, the
//      triangle is only marked as removed, and that thread destroys it.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include "stamp/programs/yada_geometry.hpp"
#include "stamp/structures/scratch.hpp"

namespace stamp::yada {

template <class B>
struct triangle {
    template <class T>
    using shared = typename B::template shared<T>;

    triangle(const point& a, const point& b, const point& c) : v{a, b, c} {}

    const corners v;
    std::array<shared<triangle*>, 3> neighbour{shared<triangle*>{nullptr}, shared<triangle*>{nullptr},
                                               shared<triangle*>{nullptr}};
    shared<bool> waits{false};
    shared<bool> is_removed{false};

    /// Returns the side whose edge begins at that corner.
    [[nodiscard]] std::size_t side_from(const point& a) const { return v[0] == a ? 0 : v[1] == a ? 1 : 2; }
    [[nodiscard]] const point& end_of(std::size_t i) const { return v[(i + 1) % 3]; }
};

template <class B>
class mesh {
    using context = typename B::context;

public:
    using element = triangle<B>;

    /// A side of a triangle.
    struct edge {
        element* of;
        std::size_t number;
        [[nodiscard]] const point& begin() const { return of->v[number]; }
        [[nodiscard]] const point& end() const { return of->end_of(number); }
    };

    /// The data that one thread needs to insert a point. The arrays keep their memory from one insertion to the next.
    struct workshop {
        scratch<element*> cavity;  // the triangles to remove: the new point is in their circles
        scratch<edge> rim;         // the sides around the cavity
        scratch<element*> fresh;   // the new triangles
    };

    /// Makes a mesh of two triangles.
    mesh() {
        const point a{0, 0}, b{side, 0}, c{side, side}, d{0, side};
        B::atomically("yada: input", [&](context& t) {
            auto* const one = B::template create<element>(t, a, b, c);
            auto* const other = B::template create<element>(t, a, c, d);
            one->neighbour[2].set(t, other);
            other->neighbour[0].set(t, one);
            at_origin_.set(t, one);
        });
    }

    /// Returns a triangle with the corner (0, 0).
    [[nodiscard]] element* at_origin(context& t) const { return at_origin_.get(t); }
    [[nodiscard]] element* at_origin() const { return at_origin_.load(); }

    /// Walks from a triangle towards p. The last triangle contains p (`inside`), or the walk would leave the mesh
    /// there.
    struct place {
        edge last;
        bool inside;
    };
    [[nodiscard]] place locate(context& t, element* from, const point& p) const {
        for (std::size_t entered = 3;;) {
            std::size_t i = 0;
            while (i < 3 && (i == entered || area(from->v[i], from->end_of(i), p) >= 0)) ++i;
            if (i == 3) return {{from, 0}, true};
            element* const next = from->neighbour[i].get(t);
            if (next == nullptr) return {{from, i}, false};
            entered = next->side_from(from->end_of(i));
            from = next;
        }
    }

    /// Finds the cavity of p, beginning at a triangle whose circle contains p. Changes nothing.
    void explore(context& t, workshop& w, element* first, const point& p) const {
        w.cavity.clear();
        w.rim.clear();
        if (!in_circle(first->v, p)) return;
        w.cavity.push(first);
        for (std::size_t next = 0; next < w.cavity.size(); ++next) {
            element* const e = w.cavity[next];
            for (std::size_t i = 0; i < 3; ++i) {
                element* const n = e->neighbour[i].get(t);
                if (n != nullptr && std::find(w.cavity.begin(), w.cavity.end(), n) != w.cavity.end()) continue;
                if (n != nullptr && in_circle(n->v, p)) w.cavity.push(n);
                else w.rim.push({e, i});
            }
        }
    }
    /// Fills the cavity of p with triangles around p. If p is on a border edge, the edge is split.
    void fill(context& t, workshop& w, const point& p) {
        w.fresh.clear();
        for (const edge& r : w.rim) {
            if (area(r.begin(), r.end(), p) == 0) continue;
            auto* const e = B::template create<element>(t, r.begin(), r.end(), p);
            connect(t, e, 0, r.of->neighbour[r.number].get(t));
            w.fresh.push(e);
            if (r.begin() == point{0, 0} || r.end() == point{0, 0}) at_origin_.set(t, e);
        }
        // Around p, each triangle begins where another one ends. If p is on the border, two sides remain without
        // neighbour.
        for (element* e : w.fresh) {
            for (element* other : w.fresh) {
                if (other->v[0] == e->v[1]) connect(t, e, 1, other);
            }
        }
        for (element* e : w.cavity) {
            if (e->waits.get(t)) e->is_removed.set(t, true);
            else B::destroy(t, e);
        }
    }

private:
    /// Connects two triangles. Does nothing if `other` is null.
    static void connect(context& t, element* e, std::size_t i, element* other) {
        if (other == nullptr) return;
        e->neighbour[i].set(t, other);
        other->neighbour[other->side_from(e->end_of(i))].set(t, e);
    }

    typename B::template shared<element*> at_origin_{nullptr};
};

}  // namespace stamp::yada
