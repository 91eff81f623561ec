// A file in the place of another, whole at every instant.
#pragma once

#include <string>

namespace tutti::server::journal {

/// Writes `anew` through to the disk, gives it the owner and the mode of `file` if that is there, and its name; on disk
/// when it returns. @throws store_error  then `file` is as it was, or is `anew`
void put_in_place(const std::string& file, const std::string& anew);

/// Writes the folder of `file` through to the disk: names that were given and taken there. @throws store_error
void synchronize_folder_of(const std::string& file);

}  // namespace tutti::server::journal
