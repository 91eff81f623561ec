// Determines the effect of opening a file by its name, before doing it.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>

#include "libc/context.hpp"

namespace tutti::libc {

enum class open_effect : unsigned char {
    plain,    ///< closing the file undoes it
    creates,  ///< the file does not exist; it is opened with O_EXCL, and closing and removing it undoes this
    final,    ///< cannot be undone: it truncates the file, or a process at the other end notices it
};

/// `path` is private. If another program creates, fills or removes the file meanwhile, the file is treated as it was
/// before.
[[nodiscard]] open_effect effect_of_open(int folder, const char* path, int flags) noexcept;

/// Removes a file that the transaction has created, unless another file has its name by now.
struct created_file {
    int folder;
    const char* path;  ///< memory of the transaction
    dev_t device;
    ino_t inode;
    void remove() const noexcept;
};

}  // namespace tutti::libc
