// What opening a file by its name would do, found out before it is done.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>

#include "libc/context.hpp"

namespace tutti::libc {

enum class opening : unsigned char {
    plain,    ///< closing it undoes it
    creates,  ///< a file that is not there: with O_EXCL, closing it and removing the file undoes it
    final,    ///< cannot be undone: it drops what is in the file, or somebody at the other end notices
};

/// `path` is private. A file that another program makes, fills or removes meanwhile is treated as it was.
[[nodiscard]] opening what_opening_does(int folder, const char* path, int flags) noexcept;

/// Removes a file that the transaction has made, unless another bears its name by now.
struct made_file {
    int folder;
    const char* path;  ///< memory of the transaction's
    dev_t device;
    ino_t inode;
    void remove() const noexcept;
};

}  // namespace tutti::libc
