#include "swarm/drawing.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace swarm {
namespace {

constexpr std::array<colour, flock_count> flock_colours{
    {{230, 80, 60}, {70, 150, 240}, {250, 190, 50}, {90, 200, 120}, {190, 110, 230}, {230, 230, 230}}};
constexpr colour wire{90, 100, 120};
constexpr colour sky{0, 0, 51};  // a colour of the GIF palette, so that it is not dithered

// The cube is seen from outside, turned sideways and tilted towards the eye. The unit of length is the cube's side.
constexpr double turn = 0.55, tilt = 0.40;
constexpr double eye_distance = 2.3;
constexpr double focal_length = 1.52 * picture_height;
// Distant objects fade into the sky.
constexpr double fog_begin = eye_distance - 0.7, fog_end = eye_distance + 1.6;

/// Unit vector towards the light, which is at the upper left in front.
constexpr std::array<double, 3> light{-0.48, -0.64, -0.60};
constexpr double ambient = 0.25;
constexpr int gloss = 4;  // how often the highlight is squared: higher values make it smaller

colour blend(colour a, colour b, double share_of_b) {
    const auto mix = [&](std::uint8_t from, std::uint8_t to) {
        return static_cast<std::uint8_t>(from + (to - from) * share_of_b);
    };
    return {mix(a.red, b.red), mix(a.green, b.green), mix(a.blue, b.blue)};
}

/// Phong's model: diffuse light and a highlight.
colour lit(colour c, double nx, double ny, double nz) {
    const double towards = std::max(0.0, nx * light[0] + ny * light[1] + nz * light[2]);
    // The eye looks along z, so only this component of the mirrored ray matters.
    double highlight = std::clamp(light[2] - 2 * towards * nz, 0.0, 1.0);
    for (int i = 0; i < gloss; ++i) highlight *= highlight;
    const colour matt = blend({}, c, ambient + (1 - ambient) * towards);
    return blend(matt, {255, 255, 255}, 0.6 * highlight);
}

}  // namespace

canvas::canvas() : picture_{picture_width, picture_height}, depth_(picture_.pixels.size()) { clear(); }

void canvas::clear() {
    std::ranges::fill(picture_.pixels, sky);
    std::ranges::fill(depth_, static_cast<float>(2 * eye_distance));
}

canvas::projection canvas::project(double x, double y, double z) {
    const double cx = x - 0.5, cy = y - 0.5, cz = z - 0.5;
    const double right = cx * std::cos(turn) + cz * std::sin(turn);
    const double ahead = cz * std::cos(turn) - cx * std::sin(turn);
    const double down = cy * std::cos(tilt) - ahead * std::sin(tilt);
    const double distance = eye_distance + ahead * std::cos(tilt) + cy * std::sin(tilt);
    const double scale = focal_length / distance;
    return {picture_width / 2.0 + right * scale, picture_height * 0.48 + down * scale, distance, scale};
}

template <class F>
void canvas::pixel(int x, int y, double distance, F shade) {
    if (x < 0 || x >= picture_.width || y < 0 || y >= picture_.height) return;
    const std::size_t at = picture_.index(x, y);
    if (static_cast<float>(distance) >= depth_[at]) return;
    depth_[at] = static_cast<float>(distance);
    picture_.pixels[at] = blend(shade(), sky, std::clamp((distance - fog_begin) / (fog_end - fog_begin), 0.0, 1.0));
}

void canvas::cube() {
    constexpr int dots = 1000;  // more than the pixels of an edge
    for (int i = 0; i <= dots; ++i) {
        const double along = static_cast<double>(i) / dots;
        for (const double a : {0.0, 1.0}) {
            for (const double b : {0.0, 1.0}) {
                for (const projection& p : {project(along, a, b), project(a, along, b), project(a, b, along)}) {
                    pixel(static_cast<int>(p.x), static_cast<int>(p.y), p.distance, [] { return wire; });
                }
            }
        }
    }
}

void canvas::ball(const projection& centre, double radius, colour of) {
    // At least a dot, so that no object disappears.
    const double size = std::max(radius * centre.scale, 0.75);
    const int left = static_cast<int>(std::floor(centre.x - size)), right = static_cast<int>(centre.x + size) + 1;
    const int top = static_cast<int>(std::floor(centre.y - size)), bottom = static_cast<int>(centre.y + size) + 1;
    for (int y = top; y <= bottom; ++y) {
        const double ny = (y + 0.5 - centre.y) / size;
        for (int x = left; x <= right; ++x) {
            const double nx = (x + 0.5 - centre.x) / size;
            const double rest = 1 - nx * nx - ny * ny;
            if (rest < 0) continue;
            const double nz = -std::sqrt(rest);
            pixel(x, y, centre.distance + nz * radius, [&] { return lit(of, nx, ny, nz); });
        }
    }
}

void canvas::draw(const snapshot& seen, int radius) {
    constexpr double side = space_side;
    clear();
    cube();
    for (const sighting& s : seen) {
        const projection centre = project(s.position.x / side, s.position.y / side, s.position.z / side);
        ball(centre, radius / side, flock_colours[static_cast<std::size_t>(scene::flock_of(s.id))]);
    }
}

}  // namespace swarm
