// Points and velocities in integers, so that adding and subtracting the same impulse conserves momentum exactly. Space
// is a torus: a coordinate of 16 bits wraps around like the unsigned type.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace swarm {

/// Units along each side of space.
inline constexpr int space_side = 1 << 16;

struct point {
    std::uint16_t x = 0, y = 0, z = 0;
};

/// Units in each step of the simulation.
struct velocity {
    std::int16_t x = 0, y = 0, z = 0;
};

/// A difference of points or of velocities, or a sum of many velocities.
struct offset {
    std::int64_t x = 0, y = 0, z = 0;

    friend bool operator==(const offset&, const offset&) = default;
};

[[nodiscard]] inline point moved(point from, velocity by) noexcept {
    return {static_cast<std::uint16_t>(from.x + by.x), static_cast<std::uint16_t>(from.y + by.y),
            static_cast<std::uint16_t>(from.z + by.z)};
}

/// Returns the shortest way from one point to another.
[[nodiscard]] inline offset way(point from, point to) noexcept {
    const auto along = [](std::uint16_t a, std::uint16_t b) {
        return static_cast<std::int16_t>(static_cast<std::uint16_t>(b - a));
    };
    return {along(from.x, to.x), along(from.y, to.y), along(from.z, to.z)};
}

[[nodiscard]] inline offset difference(velocity of, velocity from) noexcept {
    return {of.x - from.x, of.y - from.y, of.z - from.z};
}

[[nodiscard]] inline std::int64_t dot(const offset& a, const offset& b) noexcept {
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

}  // namespace swarm
