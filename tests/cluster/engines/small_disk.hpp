// A file system of its own in a folder, of any small size. Writes fail with ENOSPC when it is full.
#pragma once

#include <cstddef>
#include <string>

namespace tutti::cluster::testing {

/// Gives the process and its children mounts of their own, which other processes do not see. REQUIRES: the process has
/// one thread. Returns false if the system does not allow it.
[[nodiscard]] bool own_mounts();

class small_disk {
public:
    /// Mounts the file system. REQUIRES: own_mounts has returned true. Throws std::runtime_error.
    small_disk(std::string folder, std::size_t megabytes);
    ~small_disk();
    small_disk(const small_disk&) = delete;
    small_disk& operator=(const small_disk&) = delete;
    /// Fills the disk. Files that are deleted afterwards make room again.
    void fill() const;
    /// Restores the free space.
    void make_room() const;

private:
    const std::string folder_, ballast_;
};

}  // namespace tutti::cluster::testing
