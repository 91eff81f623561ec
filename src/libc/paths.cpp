// Files by their names. What makes something is done at once and undone by removing it; what removes something is
// irrevocable, because the kernel has no way to give a file its name back under which nobody else could see it missing.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libc/descriptor_table.hpp"
#include "libc/effects.hpp"
#include "libc/memory.hpp"
#include "libc/opening.hpp"
#include "tutti/libc/functions.hpp"

namespace tutti::libc {
namespace {

struct remove_made {
    made_file made;
    void operator()() const noexcept { made.remove(); }
};

bool names(const char* path, dev_t device, ino_t inode) noexcept {
    struct stat now;
    return ::lstat(path, &now) == 0 && now.st_dev == device && now.st_ino == inode;
}

struct rename_back {
    const char *from, *to;  ///< memory of the transaction's
    dev_t device;
    ino_t inode;
    void operator()() const noexcept {
        if (names(to, device, inode)) ::renameat2(AT_FDCWD, to, AT_FDCWD, from, RENAME_NOREPLACE);
    }
};

struct cut_named_back {
    const char* path;  ///< memory of the transaction's
    dev_t device;
    ino_t inode;
    off_t size;
    void operator()() const noexcept {
        struct stat now;
        if (::stat(path, &now) != 0 || now.st_dev != device || now.st_ino != inode) return;
        if (::truncate(path, size) != 0) return;
    }
};

/// A copy that lives as long as the transaction. Null, and errno is ENOMEM.
const char* kept_string(tx& t, const char* s) {
    char nothing[1];
    std::size_t size = 0;
    const char* const copy = private_string(t, s, nothing, size);
    if (copy != nothing) return copy;
    auto* const kept = static_cast<char*>(private_memory(t, 1));
    if (kept != nullptr) *kept = 0;
    return kept;
}

using status = int (*)(const char*, struct stat*);

int status_of(tx& t, status call, const char* path, struct stat* to) {
    char room[512];
    std::size_t size = 0;
    const char* const p = private_string(t, path, room, size);
    struct stat about;
    if (p == nullptr || call(p, &about) != 0) return -1;
    write(t, to, about);
    return 0;
}

using removal = int (*)(const char*);

int removed(tx& t, removal call, const char* path, const char* why) {
    char room[512];
    std::size_t size = 0;
    const char* const p = private_string(t, path, room, size);
    struct stat about;
    if (p == nullptr || ::lstat(p, &about) != 0) return -1;
    become_irrevocable(t, why);
    return call(p);
}

}  // namespace

int stat(tx& t, const char* path, struct stat* to) { return status_of(t, ::stat, path, to); }
int lstat(tx& t, const char* path, struct stat* to) { return status_of(t, ::lstat, path, to); }

int access(tx& t, const char* path, int mode) {
    char room[512];
    std::size_t size = 0;
    const char* const p = private_string(t, path, room, size);
    return p != nullptr ? ::access(p, mode) : -1;
}

int unlink(tx& t, const char* path) { return removed(t, ::unlink, path, "unlink"); }
int rmdir(tx& t, const char* path) { return removed(t, ::rmdir, path, "rmdir"); }

int mkdir(tx& t, const char* path, mode_t mode) {
    const char* const p = kept_string(t, path);
    auto* const undo = p != nullptr ? prepare_undo<remove_made>(t) : nullptr;
    if (undo == nullptr || ::mkdir(p, mode) != 0) return -1;
    struct stat about;
    if (::stat(p, &about) == 0) undo->arm({{AT_FDCWD, p, about.st_dev, about.st_ino}});
    return 0;
}

int rename(tx& t, const char* from, const char* to) {
    const int error = errno;
    const char* const f = kept_string(t, from);
    const char* const n = f != nullptr ? kept_string(t, to) : nullptr;
    auto* const undo = n != nullptr ? prepare_undo<rename_back>(t) : nullptr;
    struct stat about;
    if (undo == nullptr || ::lstat(f, &about) != 0) return -1;
    if (::renameat2(AT_FDCWD, f, AT_FDCWD, n, RENAME_NOREPLACE) == 0) {
        undo->arm({f, n, about.st_dev, about.st_ino});
        return 0;
    }
    // Something has the new name, or the file system does not know the flag (EINVAL, which has other causes, too).
    if (errno != EEXIST && errno != EINVAL && errno != ENOSYS) return -1;
    become_irrevocable(t, "rename onto a name that is taken");
    const int result = ::rename(f, n);
    if (result == 0) errno = error;
    return result;
}

int truncate(tx& t, const char* path, off_t size) {
    const char* const p = kept_string(t, path);
    struct stat about;
    if (p == nullptr || ::stat(p, &about) != 0) return -1;
    if (size < 0 || !S_ISREG(about.st_mode)) return ::truncate(p, size);  // which fails
    if (!lock_file(t, about, false) || ::stat(p, &about) != 0) return -1;
    if (size < about.st_size) {
        become_irrevocable(t, "truncate to fewer bytes");
        return ::truncate(p, size);
    }
    auto* const undo = prepare_undo<cut_named_back>(t);
    if (undo == nullptr) return -1;
    const int result = ::truncate(p, size);
    if (result == 0) undo->arm({p, about.st_dev, about.st_ino, about.st_size});
    return result;
}

}  // namespace tutti::libc
