// Writes a command's output to a file.
#pragma once

#include <fmt/format.h>

#include <fstream>
#include <stdexcept>
#include <string>

namespace tutti::tools {

/// Writes `text` to a file. @throws std::runtime_error  if that fails
inline void write_file(const std::string& path, const std::string& text) {
    std::ofstream file{path, std::ios::binary};
    file << text;
    file.close();
    if (!file) throw std::runtime_error{fmt::format("{} cannot be written", path)};
}

}  // namespace tutti::tools
