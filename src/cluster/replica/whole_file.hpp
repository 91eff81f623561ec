// Reads small files as a whole, and syncs folders.
#pragma once

#include <optional>
#include <string>

namespace tutti::cluster::replica {

/// Returns the content, or nothing if there is no such file. Throws backend::engine_error if the file cannot
/// be read.
[[nodiscard]] std::optional<std::string> read_whole(const std::string& file);

/// Syncs the folder of `file`, so that created and removed names in it are on the disk. Throws backend::engine_error.
void sync_folder_of(const std::string& file);

}  // namespace tutti::cluster::replica
