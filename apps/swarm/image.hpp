// A picture of three bytes for each pixel, and the files that pictures go to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace swarm {

struct colour {
    std::uint8_t red = 0, green = 0, blue = 0;

    friend bool operator==(const colour&, const colour&) = default;
};

struct image {
    int width = 0;
    int height = 0;
    std::vector<colour> pixels;  ///< row by row, the upper one first

    image(int w, int h) : width{w}, height{h}, pixels(static_cast<std::size_t>(w) * static_cast<std::size_t>(h)) {}
    [[nodiscard]] std::size_t index(int x, int y) const noexcept {
        return static_cast<std::size_t>(y) * static_cast<std::size_t>(width) + static_cast<std::size_t>(x);
    }
};

/// A file cannot be written; the message names it and says why.
class file_error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// @throws file_error
void write_png(const image& picture, const std::string& path);

/// An endless animation. Its colours are those of a fixed palette, dithered.
/// Thread safety: none.
class gif_writer {
public:
    /// @throws file_error
    gif_writer(const std::string& path, int width, int height, double fps);
    /// Leaves an incomplete file if `finish` was not called.
    ~gif_writer();

    /// REQUIRES: the size that the writer was made for.
    /// @throws file_error
    void add(const image& frame);
    /// @throws file_error
    void finish();

private:
    struct state;
    std::unique_ptr<state> state_;
};

}  // namespace swarm
