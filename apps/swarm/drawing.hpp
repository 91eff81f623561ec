// Draws a snapshot as shaded balls in a wire cube, in software: perspective, a depth buffer, one light.
#pragma once

#include <vector>

#include "swarm/image.hpp"
#include "swarm/snapshot.hpp"

namespace swarm {

inline constexpr int picture_width = 640;
inline constexpr int picture_height = 480;

/// Thread safety: not thread-safe.
class canvas {
public:
    canvas();

    /// Replaces the picture.
    /// @param radius  of the balls, in units of space
    void draw(const snapshot& seen, int radius);
    [[nodiscard]] const image& picture() const noexcept { return picture_; }

private:
    /// A position on the screen: pixels from its corner, distance from the eye, pixels per unit at that distance.
    struct projection {
        double x, y, distance, scale;
    };
    static projection project(double x, double y, double z);

    void clear();
    void cube();
    void ball(const projection& centre, double radius, colour of);
    /// Sets the pixel to the colour `shade()` if no nearer object covers it.
    template <class F>
    void pixel(int x, int y, double distance, F shade);

    image picture_;
    std::vector<float> depth_;
};

}  // namespace swarm
