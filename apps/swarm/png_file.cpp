#include <fmt/format.h>
#include <png.h>

#include "swarm/image.hpp"

namespace swarm {

static_assert(sizeof(colour) == 3, "the encoder takes pixels of three bytes");

void write_png(const image& picture, const std::string& path) {
    png_image header{};
    header.version = PNG_IMAGE_VERSION;
    header.format = PNG_FORMAT_RGB;
    header.width = static_cast<png_uint_32>(picture.width);
    header.height = static_cast<png_uint_32>(picture.height);
    if (png_image_write_to_file(&header, path.c_str(), 0, picture.pixels.data(), 0, nullptr) == 0) {
        throw file_error{fmt::format("{} cannot be written: {}", path, static_cast<const char*>(header.message))};
    }
}

}  // namespace swarm
