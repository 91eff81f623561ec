// Small files as a whole.
#pragma once

#include <optional>
#include <string>

namespace tutti::cluster::replica {

/// None: there is no such file. Throws backend::refusal: it cannot be read.
[[nodiscard]] std::optional<std::string> read_whole(const std::string& file);

/// Names that were given and taken in the folder of `file` are on the disk. Throws backend::refusal.
void sync_folder_of(const std::string& file);

}  // namespace tutti::cluster::replica
