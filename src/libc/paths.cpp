// Operations on files by name. A call that creates a name runs immediately, and a roll-back removes the name. A call
// that removes a name is irrevocable. A roll-back could restore the name only later, and other processes might not find
// the name meanwhile.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "libc/descriptor_table.hpp"
#include "libc/effects.hpp"
#include "libc/memory.hpp"
#include "libc/opening.hpp"
#include "tutti/libc/functions.hpp"

namespace tutti::libc {
namespace {

struct remove_created {
    created_file created;
    void operator()() const noexcept { created.remove(); }
};

bool is_name_of(int folder, const char* path, dev_t device, ino_t inode) noexcept {
    struct stat now;
    return ::fstatat(folder, path, &now, AT_SYMLINK_NOFOLLOW) == 0 && now.st_dev == device && now.st_ino == inode;
}

struct undo_rename {
    int from_folder, to_folder;
    const char *from, *to;  ///< memory of the transaction
    dev_t device;
    ino_t inode;
    void operator()() const noexcept {
        if (is_name_of(to_folder, to, device, inode)) ::renameat2(to_folder, to, from_folder, from, RENAME_NOREPLACE);
    }
};

struct restore_named_size {
    const char* path;  ///< memory of the transaction
    dev_t device;
    ino_t inode;
    off_t size;
    void operator()() const noexcept {
        struct stat now;
        if (::stat(path, &now) != 0 || now.st_dev != device || now.st_ino != inode) return;
        if (::truncate(path, size) != 0) return;
    }
};

/// Copies a path to memory that lives as long as the transaction. Returns null and sets errno on failure.
const char* copy_path(tx& t, const char* s) {
    char nothing[1];
    std::size_t size = 0;
    const char* const copy = private_path(t, s, nothing, size);
    if (copy != nothing) return copy;
    auto* const kept = static_cast<char*>(private_memory(t, 1));
    if (kept != nullptr) *kept = 0;
    return kept;
}

/// Calls `ask` with a private copy of the path. If there is no copy, returns -1 and sets errno.
template <class Ask>
auto call_with_path(tx& t, const char* path, Ask ask) -> decltype(ask(path)) {
    char room[512];
    std::size_t size = 0;
    const char* const p = private_path(t, path, room, size);
    return p != nullptr ? ask(p) : -1;
}

/// Returns false and sets errno to EBADF if the transaction has closed the folder from which the path starts.
bool is_usable_for(tx& t, int folder, const char* path) { return *path == '/' || is_usable(t, folder); }

/// Removes a file if it exists.
template <class Call>
int remove_name(tx& t, int folder, const char* path, const char* why, Call call) {
    return call_with_path(t, path, [&](const char* p) {
        struct stat about;
        if (!is_usable_for(t, folder, p) || ::fstatat(folder, p, &about, AT_SYMLINK_NOFOLLOW) != 0) return -1;
        become_irrevocable(t, why);
        return call(p);
    });
}

/// Creates a name by `call(private path)`. A roll-back removes the name.
template <class Call>
int create_name(tx& t, int folder, const char* path, Call call) {
    const char* const p = copy_path(t, path);
    if (p == nullptr || !is_usable_for(t, folder, p)) return -1;
    auto* const undo = prepare_undo<remove_created>(t);
    if (undo == nullptr || call(p) != 0) return -1;
    struct stat about;
    if (::fstatat(folder, p, &about, AT_SYMLINK_NOFOLLOW) == 0) undo->arm({{folder, p, about.st_dev, about.st_ino}});
    return 0;
}

/// Copies as much of `text` to the program's `to` as fits into `size` characters. Returns -1 if `size` is negative.
ssize_t copy_out_text(tx& t, char* to, const char* text, ssize_t size) {
    if (size > 0) copy_out(t, to, text, static_cast<std::size_t>(size));
    return size;
}
/// Copies a string with its terminating 0 to `to`, or to newly allocated memory of the program if `to` is null.
char* copy_out_string(tx& t, char* to, const char* text) {
    const std::size_t size = std::strlen(text) + 1;
    if (to == nullptr) to = static_cast<char*>(libc::malloc(t, size));
    if (to != nullptr) copy_out(t, to, text, size);
    return to;
}

/// Restores permissions.
struct restore_mode {
    int fd;
    const char* path;  ///< in memory of the transaction; null: use the descriptor instead
    dev_t device;
    ino_t inode;
    mode_t mode;
    void operator()() const noexcept {
        struct stat now;
        const int found = path != nullptr ? ::stat(path, &now) : ::fstat(fd, &now);
        if (found != 0 || now.st_dev != device || now.st_ino != inode) return;
        if ((path != nullptr ? ::chmod(path, mode) : ::fchmod(fd, mode)) != 0) return;
    }
};

template <class Call>
int change_mode(tx& t, int fd, const char* path, const struct stat& about, Call call) {
    if (!lock_file(t, about, false)) return -1;
    auto* const undo = prepare_undo<restore_mode>(t);
    if (undo == nullptr || call() != 0) return -1;
    undo->arm({fd, path, about.st_dev, about.st_ino, about.st_mode & 07777});
    return 0;
}

}  // namespace

int fstatat(tx& t, int folder, const char* path, struct stat* to, int flags) {
    return call_with_path(t, path, [&](const char* p) {
        struct stat about;
        if (!is_usable_for(t, folder, p) || ::fstatat(folder, p, &about, flags) != 0) return -1;
        if (write_deferred_output_to(t, about) && ::fstatat(folder, p, &about, flags) != 0) return -1;
        write(t, to, about);
        return 0;
    });
}
int stat(tx& t, const char* path, struct stat* to) { return libc::fstatat(t, AT_FDCWD, path, to, 0); }
int lstat(tx& t, const char* path, struct stat* to) {
    return libc::fstatat(t, AT_FDCWD, path, to, AT_SYMLINK_NOFOLLOW);
}

int access(tx& t, const char* path, int mode) {
    return call_with_path(t, path, [mode](const char* p) { return ::access(p, mode); });
}
int euidaccess(tx& t, const char* path, int mode) {
    return call_with_path(t, path, [mode](const char* p) { return ::euidaccess(p, mode); });
}
int eaccess(tx& t, const char* path, int mode) { return libc::euidaccess(t, path, mode); }
int faccessat(tx& t, int folder, const char* path, int mode, int flags) {
    return call_with_path(
        t, path, [&](const char* p) { return is_usable_for(t, folder, p) ? ::faccessat(folder, p, mode, flags) : -1; });
}
long pathconf(tx& t, const char* path, int name) {
    return call_with_path(t, path, [name](const char* p) { return ::pathconf(p, name); });
}
long fpathconf(tx& t, int fd, int name) { return is_usable(t, fd) ? ::fpathconf(fd, name) : -1; }

int unlink(tx& t, const char* path) { return remove_name(t, AT_FDCWD, path, "unlink", ::unlink); }
int rmdir(tx& t, const char* path) { return remove_name(t, AT_FDCWD, path, "rmdir", ::rmdir); }
int remove(tx& t, const char* path) { return remove_name(t, AT_FDCWD, path, "remove", ::remove); }
int unlinkat(tx& t, int folder, const char* path, int flags) {
    return remove_name(t, folder, path, "unlinkat", [=](const char* p) { return ::unlinkat(folder, p, flags); });
}

int mkdirat(tx& t, int folder, const char* path, mode_t mode) {
    return create_name(t, folder, path, [=](const char* p) { return ::mkdirat(folder, p, mode); });
}
int mkdir(tx& t, const char* path, mode_t mode) { return libc::mkdirat(t, AT_FDCWD, path, mode); }
int mkfifoat(tx& t, int folder, const char* path, mode_t mode) {
    return create_name(t, folder, path, [=](const char* p) { return ::mkfifoat(folder, p, mode); });
}
int mkfifo(tx& t, const char* path, mode_t mode) { return libc::mkfifoat(t, AT_FDCWD, path, mode); }
int linkat(tx& t, int from_folder, const char* from, int to_folder, const char* to, int flags) {
    return call_with_path(t, from, [&](const char* f) {
        if (!is_usable_for(t, from_folder, f)) return -1;
        return create_name(t, to_folder, to,
                           [&](const char* p) { return ::linkat(from_folder, f, to_folder, p, flags); });
    });
}
int link(tx& t, const char* from, const char* to) { return libc::linkat(t, AT_FDCWD, from, AT_FDCWD, to, 0); }
int symlinkat(tx& t, const char* target, int folder, const char* path) {
    return call_with_path(t, target, [&](const char* text) {
        return create_name(t, folder, path, [&](const char* p) { return ::symlinkat(text, folder, p); });
    });
}
int symlink(tx& t, const char* target, const char* path) { return libc::symlinkat(t, target, AT_FDCWD, path); }
char* mkdtemp(tx& t, char* path) {
    const char* name = nullptr;
    // glibc replaces the last characters of the program's string in place.
    const int result = create_name(
        t, AT_FDCWD, path, [&](const char* p) { return (name = ::mkdtemp(const_cast<char*>(p))) != nullptr ? 0 : -1; });
    return result == 0 ? copy_out_string(t, path, name) : nullptr;
}

ssize_t readlinkat(tx& t, int folder, const char* path, char* to, std::size_t size) {
    return call_with_path(t, path, [&](const char* p) -> ssize_t {
        char text[PATH_MAX];  // the kernel's longest path
        if (!is_usable_for(t, folder, p)) return -1;
        return copy_out_text(t, to, text, ::readlinkat(folder, p, text, std::min(size, sizeof text)));
    });
}
ssize_t readlink(tx& t, const char* path, char* to, std::size_t size) {
    return libc::readlinkat(t, AT_FDCWD, path, to, size);
}
char* realpath(tx& t, const char* path, char* to) {
    if (path == nullptr) {
        errno = EINVAL;
        return nullptr;
    }
    char room[512];
    std::size_t size = 0;
    const char* const p = private_path(t, path, room, size);
    char text[PATH_MAX];
    if (p == nullptr || ::realpath(p, text) == nullptr) return nullptr;
    return copy_out_string(t, to, text);
}
char* canonicalize_file_name(tx& t, const char* path) { return libc::realpath(t, path, nullptr); }
char* getcwd(tx& t, char* to, std::size_t size) {
    char text[PATH_MAX];
    if (size == 0 && to != nullptr) {
        errno = EINVAL;
        return nullptr;
    }
    // glibc requests from the kernel as much as fits into the buffer. If the caller passes neither buffer nor size,
    // glibc requests the whole path.
    if (::getcwd(text, size == 0 ? sizeof text : std::min(size, sizeof text)) == nullptr) return nullptr;
    if (to == nullptr && size != 0 && (to = static_cast<char*>(libc::malloc(t, size))) == nullptr) return nullptr;
    return copy_out_string(t, to, text);
}
char* get_current_dir_name(tx& t) { return libc::getcwd(t, nullptr, 0); }
int chdir(tx& t, const char* path) {
    return call_with_path(t, path, [&](const char* p) {
        become_irrevocable(t, "chdir");
        return ::chdir(p);
    });
}
int fchdir(tx& t, int fd) {
    if (!is_usable(t, fd)) return -1;
    become_irrevocable(t, "fchdir");
    return ::fchdir(fd);
}
mode_t umask(tx& t, mode_t mode) {
    become_irrevocable(t, "umask");
    return ::umask(mode);
}

int chmod(tx& t, const char* path, mode_t mode) {
    const char* const p = copy_path(t, path);
    struct stat about;
    if (p == nullptr || ::stat(p, &about) != 0) return -1;
    return change_mode(t, -1, p, about, [=] { return ::chmod(p, mode); });
}
int fchmod(tx& t, int fd, mode_t mode) {
    struct stat about;
    if (!is_usable(t, fd) || ::fstat(fd, &about) != 0) return -1;
    return change_mode(t, fd, nullptr, about, [=] { return ::fchmod(fd, mode); });
}

int renameat2(tx& t, int from_folder, const char* from, int to_folder, const char* to, unsigned flags) {
    const int error = errno;
    const char* const f = copy_path(t, from);
    const char* const n = f != nullptr ? copy_path(t, to) : nullptr;
    if (n == nullptr || !is_usable_for(t, from_folder, f) || !is_usable_for(t, to_folder, n)) return -1;
    auto* const undo = prepare_undo<undo_rename>(t);
    struct stat about;
    if (undo == nullptr || ::fstatat(from_folder, f, &about, AT_SYMLINK_NOFOLLOW) != 0) return -1;
    if ((flags & ~unsigned{RENAME_NOREPLACE}) == 0) {
        if (::renameat2(from_folder, f, to_folder, n, RENAME_NOREPLACE) == 0) {
            undo->arm({from_folder, to_folder, f, n, about.st_dev, about.st_ino});
            return 0;
        }
        if (flags != 0) return -1;
        // Either the new name exists, or the file system does not support the flag. In the latter case the error is
        // EINVAL, which has other causes, too.
        if (errno != EEXIST && errno != EINVAL && errno != ENOSYS) return -1;
    }
    become_irrevocable(t, flags == 0 ? "rename onto a name that exists" : "renameat2 with flags");
    const int result = ::renameat2(from_folder, f, to_folder, n, flags);
    if (result == 0) errno = error;
    return result;
}
int renameat(tx& t, int from_folder, const char* from, int to_folder, const char* to) {
    return libc::renameat2(t, from_folder, from, to_folder, to, 0);
}
int rename(tx& t, const char* from, const char* to) { return libc::renameat2(t, AT_FDCWD, from, AT_FDCWD, to, 0); }

int truncate(tx& t, const char* path, off_t size) {
    const char* const p = copy_path(t, path);
    struct stat about;
    if (p == nullptr || ::stat(p, &about) != 0) return -1;
    if (size < 0 || !S_ISREG(about.st_mode)) return ::truncate(p, size);  // fails
    if (!lock_file(t, about, false) || ::stat(p, &about) != 0) return -1;
    if (size < about.st_size) {
        become_irrevocable(t, "truncate to fewer bytes");
        return ::truncate(p, size);
    }
    auto* const undo = prepare_undo<restore_named_size>(t);
    if (undo == nullptr) return -1;
    const int result = ::truncate(p, size);
    if (result == 0) undo->arm({p, about.st_dev, about.st_ino, about.st_size});
    return result;
}

}  // namespace tutti::libc
