// Determines the effect of opening a file by its name, before the file is opened.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>

#include "libc/context.hpp"

namespace tutti::libc {

enum class open_effect : unsigned char {
    plain,    ///< closing the file undoes the opening
    creates,  ///< the file does not exist and is opened with O_EXCL; closing and removing it undoes the opening
    final,    ///< cannot be undone, because opening truncates the file or is visible to a process at the other end
};

/// Returns the effect. `path` is private. If another program creates, fills or removes the file after this call, the
/// returned effect still applies.
[[nodiscard]] open_effect effect_of_open(int folder, const char* path, int flags) noexcept;

/// Removes a file that the transaction has created, unless its name now belongs to another file.
struct created_file {
    int folder;
    const char* path;  ///< memory of the transaction
    dev_t device;
    ino_t inode;
    void remove() const noexcept;
};

}  // namespace tutti::libc
