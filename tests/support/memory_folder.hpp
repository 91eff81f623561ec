// The place for files of tests that need no disk.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <string>

namespace tutti::support {

/// Returns a folder in memory, or the temporary folder if the system has no such folder. A killed process does not lose
/// data in memory, and memory has no delays of a disk. On ext4, for example, truncating a file may take milliseconds.
inline std::string memory_folder() {
    return ::access("/dev/shm", W_OK) == 0 ? "/dev/shm" : std::filesystem::temp_directory_path().string();
}

}  // namespace tutti::support
