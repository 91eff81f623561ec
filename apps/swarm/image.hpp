// A picture with three bytes for each pixel, and the file formats for pictures.
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
    std::vector<colour> pixels;  ///< row by row, from the top

    image(int w, int h) : width{w}, height{h}, pixels(static_cast<std::size_t>(w) * static_cast<std::size_t>(h)) {}
    [[nodiscard]] std::size_t index(int x, int y) const noexcept {
        return static_cast<std::size_t>(y) * static_cast<std::size_t>(width) + static_cast<std::size_t>(x);
    }
};

/// The error that a file cannot be written. The message names the file and the reason.
class file_error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// @throws file_error
void write_png(const image& picture, const std::string& path);

/// Writes an endless animation. The colours are dithered to a fixed palette. Thread safety: not thread-safe.
class gif_writer {
public:
    /// @throws file_error
    gif_writer(const std::string& path, int width, int height, double fps);
    /// Leaves an incomplete file if `finish` was not called.
    ~gif_writer();

    /// REQUIRES: the frame has the size of the writer.
    /// @throws file_error
    void add(const image& frame);
    /// @throws file_error
    void finish();

private:
    struct state;
    std::unique_ptr<state> state_;
};

}  // namespace swarm
