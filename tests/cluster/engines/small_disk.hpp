// A file system of its own in a folder, as small as a test likes: what is written there finds no space when it is full.
#pragma once

#include <cstddef>
#include <string>

namespace tutti::cluster::testing {

/// Mounts are the process's own from now on, and go with it and those that it starts: nobody else sees them. Called
/// while the process has one thread. False: the system does not allow it.
[[nodiscard]] bool own_mounts();

class small_disk {
public:
    /// REQUIRES: own_mounts has returned true. Throws std::runtime_error.
    small_disk(std::string folder, std::size_t megabytes);
    ~small_disk();
    small_disk(const small_disk&) = delete;
    small_disk& operator=(const small_disk&) = delete;
    /// Nothing is left; what is deleted afterwards makes room again.
    void fill() const;
    /// As before.
    void make_room() const;

private:
    const std::string folder_, ballast_;
};

}  // namespace tutti::cluster::testing
