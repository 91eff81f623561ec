// The initial points of yada.
#pragma once

#include <algorithm>
#include <cmath>
#include <unordered_set>
#include <vector>

#include "stamp/programs/yada_geometry.hpp"
#include "stamp/random.hpp"

namespace stamp::yada {

inline constexpr std::size_t max_points = 4'000'000;  // more would be too near to each other for integer coordinates

/// Orders points so that each is near to the previous one: by rows, in alternating directions.
inline void sort_by_rows(std::vector<point>::iterator first, std::vector<point>::iterator last) {
    const double rows = std::max(1.0, std::sqrt(static_cast<double>(last - first) / 4));
    const std::int64_t height = static_cast<std::int64_t>(static_cast<double>(side) / rows) + 1;
    std::sort(first, last, [height](const point& a, const point& b) {
        const std::int64_t row = a.y / height;
        if (row != b.y / height) return row < b.y / height;
        return row % 2 == 0 ? a.x < b.x : a.x > b.x;
    });
}

/// Makes random points that are not too near to each other. Ever larger parts of them are ordered by rows. So each
/// point is near to the previous one, but the first points spread over the whole square (Amenta, Choi, Rote,
/// "Incremental Constructions con BRIO", SoCG 2003).
[[nodiscard]] inline std::vector<point> make_points(std::size_t count, std::uint64_t seed) {
    random_source random{seed};
    const auto across = static_cast<std::int64_t>(4 * std::sqrt(static_cast<double>(count))) + 4;
    const std::int64_t cell = side / across;
    std::unordered_set<std::int64_t> taken;
    std::vector<point> points;
    while (points.size() < count) {
        const std::int64_t column = random.below(across), row = random.below(across);
        // Uses only odd cells, so that at least one cell is between any two points, and between a point and the border.
        if (column % 2 == 0 || row % 2 == 0 || !taken.insert(row * across + column).second) continue;
        points.push_back({column * cell + random.below(cell), row * cell + random.below(cell)});
    }
    for (std::size_t last = count; last > 0; last /= 2) {
        const auto from = points.begin() + static_cast<std::ptrdiff_t>(last / 2);
        sort_by_rows(from, points.begin() + static_cast<std::ptrdiff_t>(last));
    }
    return points;
}

}  // namespace stamp::yada
