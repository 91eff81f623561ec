#include "swarm/pictures.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <optional>

#include <fmt/format.h>

#include "swarm/drawing.hpp"

namespace swarm {
namespace {

std::string frame_path(const std::string& directory, std::size_t number) {
    return fmt::format("{}/frame-{:05}.png", directory, number);
}

/// Opens the file for writing without changing its contents.
void try_to_write(const char* option, const std::string& path) {
    std::FILE* const file = std::fopen(path.c_str(), "a");
    if (file == nullptr) {
        throw cli::command_line_error{fmt::format("{}: {} cannot be written: {}", option, path, std::strerror(errno))};
    }
    std::fclose(file);
}

}  // namespace

void prepare_pictures(const program_options& options) {
    if (!options.png.empty()) {
        std::error_code ignored;  // writing the first frame reports the error
        std::filesystem::create_directory(options.png, ignored);
        try_to_write("--png", frame_path(options.png, 0));
    }
    if (!options.gif.empty()) try_to_write("--gif", options.gif);
}

std::size_t write_pictures(const program_options& options, const run_result& result) {
    std::optional<gif_writer> gif;
    if (!options.gif.empty()) gif.emplace(options.gif, picture_width, picture_height, options.run.fps);
    canvas canvas;
    std::size_t number = 0;
    for (const snapshot& seen : result.recording) {
        canvas.draw(seen, result.radius);
        if (!options.png.empty()) write_png(canvas.picture(), frame_path(options.png, number));
        if (gif) gif->add(canvas.picture());
        ++number;
    }
    if (gif) gif->finish();
    return number;
}

}  // namespace swarm
