// The geometry of yada. Points have integer coordinates, so that every test of a point's position is exact: a correct
// mesh stays correct, although new points are rounded.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <utility>

#include "stamp/builds/pure.hpp"

namespace stamp::yada {

/// The mesh covers the square from (0, 0) to (side, side).
inline constexpr std::int64_t side = std::int64_t{1} << 24;

struct point {
    std::int64_t x, y;
    friend constexpr bool operator==(const point& a, const point& b) { return a.x == b.x && a.y == b.y; }
};

using corners = std::array<point, 3>;  // counter-clockwise

__extension__ using wide = __int128;

/// Returns twice the area of the triangle: positive if counter-clockwise, 0 if the three points are on a line.
[[nodiscard]] constexpr std::int64_t area(const point& a, const point& b, const point& c) {
    return (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x);
}

/// Returns true if p is strictly inside the circle through the corners.
[[nodiscard]] constexpr bool in_circle(const corners& v, const point& p) {
    wide sum = 0;
    for (int i = 0; i < 3; ++i) {
        const point& a = v[static_cast<std::size_t>(i)];
        const point& b = v[static_cast<std::size_t>((i + 1) % 3)];
        const point& c = v[static_cast<std::size_t>((i + 2) % 3)];
        const wide far = (a.x - p.x) * (a.x - p.x) + (a.y - p.y) * (a.y - p.y);
        sum += far * area(p, b, c);
    }
    return sum > 0;
}

/// Returns true if p sees a and b at a right or obtuse angle: p is in the circle whose diameter is the edge from a to
/// b.
[[nodiscard]] constexpr bool encroaches(const point& p, const point& a, const point& b) {
    return (a.x - p.x) * (b.x - p.x) + (a.y - p.y) * (b.y - p.y) <= 0;
}

[[nodiscard]] constexpr bool on_border(const point& a, const point& b) {
    return (a.x == b.x && (a.x == 0 || a.x == side)) || (a.y == b.y && (a.y == 0 || a.y == side));
}

[[nodiscard]] inline double distance_squared(const point& a, const point& b) {
    const auto dx = static_cast<double>(a.x - b.x), dy = static_cast<double>(a.y - b.y);
    return dx * dx + dy * dy;
}

/// Returns the cosine of the smallest angle: from 0.5 for the best triangle to nearly 1 for the worst.
[[nodiscard]] TUTTI_STAMP_PURE inline double badness(const corners& v) {
    double shortest = distance_squared(v[0], v[1]), b = distance_squared(v[1], v[2]), c = distance_squared(v[2], v[0]);
    if (b < shortest) std::swap(shortest, b);
    if (c < shortest) std::swap(shortest, c);
    return (b + c - shortest) / (2 * std::sqrt(b) * std::sqrt(c));
}

inline constexpr double worst_allowed = 0.93969262078590838;  // 20 degrees
[[nodiscard]] inline bool is_bad(const corners& v) { return badness(v) > worst_allowed; }

/// Returns the rounded centre of the circle through the corners. If the centre is far outside of the square, returns a
/// point in that direction.
[[nodiscard]] TUTTI_STAMP_PURE inline point centre(const corners& v) {
    const auto bx = static_cast<double>(v[1].x - v[0].x), by = static_cast<double>(v[1].y - v[0].y);
    const auto cx = static_cast<double>(v[2].x - v[0].x), cy = static_cast<double>(v[2].y - v[0].y);
    const double twice = 2 * (bx * cy - by * cx), b = bx * bx + by * by, c = cx * cx + cy * cy;
    double dx = (cy * b - by * c) / twice, dy = (bx * c - cx * b) / twice;
    const double max_distance = 4.0 * static_cast<double>(side), far = std::max(std::abs(dx), std::abs(dy));
    if (far > max_distance) {
        dx *= max_distance / far;
        dy *= max_distance / far;
    }
    return {v[0].x + static_cast<std::int64_t>(std::floor(dx + 0.5)),
            v[0].y + static_cast<std::int64_t>(std::floor(dy + 0.5))};
}

}  // namespace stamp::yada
