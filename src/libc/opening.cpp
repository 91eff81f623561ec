// Implements open, openat, creat and mkstemp. If the file exists or is newly created, the descriptor is made
// immediately, so its number and the errors are exact.
#include "libc/opening.hpp"

#include <sys/sysmacros.h>
#include <unistd.h>

#include <cstdlib>

#include "libc/descriptor_table.hpp"
#include "libc/effects.hpp"
#include "libc/memory.hpp"
#include "tutti/libc/functions.hpp"

namespace tutti::libc {
namespace {

/// Returns true if opening the file has no side effect. Among devices, /dev/null is such a file.
bool is_quiet(const struct stat& about) noexcept {
    constexpr unsigned memory_devices = 1;
    return S_ISREG(about.st_mode) || S_ISDIR(about.st_mode) || S_ISLNK(about.st_mode) ||
           (S_ISCHR(about.st_mode) && major(about.st_rdev) == memory_devices);
}

struct close_opened {
    int fd;
    created_file created;
    void operator()() const noexcept {
        if (created.path != nullptr) created.remove();
        ::close(fd);
    }
};

int opened(tx& t, int folder, const char* path, int flags, mode_t mode) {
    auto* const undo = prepare_undo<close_opened>(t);
    if (undo == nullptr) return -1;
    const int fd = ::openat(folder, path, flags, mode);
    if (fd >= 0) undo->arm({fd, {}});
    return fd;
}

/// Returns -1 and sets errno to EEXIST if another program has created the file meanwhile.
int created(tx& t, int folder, const char* path, std::size_t size, int flags, mode_t mode) {
    auto* const kept = static_cast<char*>(private_memory(t, size + 1));
    auto* const undo = kept != nullptr ? prepare_undo<close_opened>(t) : nullptr;
    if (undo == nullptr) return -1;
    std::memcpy(kept, path, size + 1);
    const int fd = ::openat(folder, kept, flags | O_EXCL, mode);
    struct stat about{};
    if (fd >= 0) {
        ::fstat(fd, &about);
        undo->arm({fd, {folder, kept, about.st_dev, about.st_ino}});
    }
    return fd;
}

}  // namespace

open_effect effect_of_open(int folder, const char* path, int flags) noexcept {
    const bool only_makes = (flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL);
    const int follow = only_makes || (flags & O_NOFOLLOW) != 0 ? AT_SYMLINK_NOFOLLOW : 0;
    struct stat about;
    if (::fstatat(folder, path, &about, follow) != 0) {
        return (flags & O_CREAT) != 0 && errno == ENOENT ? open_effect::creates : open_effect::plain;
    }
    if (only_makes || (flags & O_PATH) != 0) return open_effect::plain;
    const bool drops = (flags & O_TRUNC) != 0 && S_ISREG(about.st_mode) && about.st_size != 0;
    return is_quiet(about) && !drops ? open_effect::plain : open_effect::final;
}

void created_file::remove() const noexcept {
    struct stat now;
    if (::fstatat(folder, path, &now, AT_SYMLINK_NOFOLLOW) != 0) return;
    if (now.st_dev == device && now.st_ino == inode) ::unlinkat(folder, path, S_ISDIR(now.st_mode) ? AT_REMOVEDIR : 0);
}

int mkostemps(tx& t, char* path, int suffix, int flags) {
    char room[512];
    std::size_t size = 0;
    const char* const p = private_path(t, path, room, size);
    auto* const kept = p != nullptr ? static_cast<char*>(private_memory(t, size + 1)) : nullptr;
    auto* const undo = kept != nullptr ? prepare_undo<close_opened>(t) : nullptr;
    if (undo == nullptr) return -1;
    std::memcpy(kept, p, size + 1);
    const int fd = ::mkostemps(kept, suffix, flags);
    if (fd < 0) return -1;
    struct stat about{};
    ::fstat(fd, &about);
    undo->arm({fd, {AT_FDCWD, kept, about.st_dev, about.st_ino}});
    copy_out(t, path, kept, size);
    return fd;
}
int mkostemp(tx& t, char* path, int flags) { return libc::mkostemps(t, path, 0, flags); }
int mkstemps(tx& t, char* path, int suffix) { return libc::mkostemps(t, path, suffix, 0); }
int mkstemp(tx& t, char* path) { return libc::mkostemps(t, path, 0, 0); }

int openat(tx& t, int folder, const char* path, int flags, mode_t mode) {
    const int error = errno;
    char room[512];
    std::size_t size = 0;
    const char* const p = private_path(t, path, room, size);
    if (p == nullptr) return -1;
    if (*p != '/' && !is_usable(t, folder)) return -1;
    open_effect what = effect_of_open(folder, p, flags);
    int fd = -1;
    if (what == open_effect::creates) {
        fd = created(t, folder, p, size, flags, mode);
        // Either the path is a dangling symbolic link, or another process has created the file first.
        if (fd < 0 && errno == EEXIST && (flags & O_EXCL) == 0) what = open_effect::final;
    }
    if (what == open_effect::final)
        become_irrevocable(t, "a file that is not empty, or a device, is opened to be overwritten",
                           "open it before the block, or append to it");
    if (what != open_effect::creates) fd = opened(t, folder, p, flags, mode);
    if (fd >= 0) errno = error;
    return fd;
}
int open(tx& t, const char* path, int flags, mode_t mode) { return libc::openat(t, AT_FDCWD, path, flags, mode); }
int creat(tx& t, const char* path, mode_t mode) {
    return libc::openat(t, AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode);
}

}  // namespace tutti::libc
