// Folders that a transaction opens, reads and closes. A folder that a transaction opens exists immediately, and a
// roll-back closes it. To undo reads, a roll-back seeks back. If the transaction closes a folder, the commit closes it.
//
// glibc's readdir returns a pointer into a buffer, which the next call changes without barriers. So blocks get a copy
// of the entry that is written through barriers. Each folder has one copy, which is found by the address of the DIR.
// When glibc reuses this address for another folder, the copy is reused, too. So there are never more copies than
// folders that were open at the same time.
#include <dirent.h>

#include <mutex>
#include <unordered_map>

#include "libc/descriptor_table.hpp"
#include "libc/effects.hpp"
#include "libc/memory.hpp"
#include "tutti/libc/functions.hpp"

namespace tutti::libc {
namespace {

constexpr char folders = 0;  // its address identifies the locks of folders

struct close_folder {
    DIR* folder;
    void operator()() const noexcept { ::closedir(folder); }
};
struct restore_folder_position {
    DIR* folder;
    long position;
    void operator()() const noexcept { ::seekdir(folder, position); }
};

/// Acquires the lock of the folder until the end of the transaction. Returns false if there is no memory for the lock.
[[nodiscard]] bool lock_folder(tx& t, DIR* folder) {
    return hold_until_end(t, {.of = &folders, .key = reinterpret_cast<std::uint64_t>(folder)});
}

/// Locks the folder, and makes a roll-back restore the position in it.
[[nodiscard]] bool save_position(tx& t, DIR* folder) {
    auto* const undo = lock_folder(t, folder) ? prepare_undo<restore_folder_position>(t) : nullptr;
    if (undo == nullptr) return false;
    undo->arm({folder, ::telldir(folder)});
    return true;
}

/// Returns the copy for a folder. If there is no memory for a copy, returns null and sets errno to ENOMEM.
dirent* copy_of_entry(DIR* folder) noexcept {
    static std::mutex mutex;
    // The copies are never destroyed, because blocks may run in destructors at the program's end.
    static auto* const copies = new std::unordered_map<DIR*, dirent>;
    try {
        const std::lock_guard lock{mutex};
        return &(*copies)[folder];
    } catch (const std::bad_alloc&) {
        errno = ENOMEM;
        return nullptr;
    }
}

template <class Open>
DIR* opened(tx& t, Open open) {
    auto* const undo = prepare_undo<close_folder>(t);
    if (undo == nullptr) return nullptr;
    DIR* const folder = open();
    if (folder != nullptr) undo->arm({folder});
    return folder;
}

}  // namespace

DIR* opendir(tx& t, const char* path) {
    char room[512];
    std::size_t size = 0;
    const char* const p = private_path(t, path, room, size);
    return p != nullptr ? opened(t, [p] { return ::opendir(p); }) : nullptr;
}

DIR* fdopendir(tx& t, int fd) {
    if (!is_usable(t, fd)) return nullptr;
    // Closing the DIR would also close the descriptor, which a roll-back has to leave open.
    become_irrevocable(t, "fdopendir", "use opendir");
    return ::fdopendir(fd);
}

int closedir(tx& t, DIR* folder) {
    if (!lock_folder(t, folder)) return -1;
    return defer(t, detail::handler_point::at_commit, close_folder{folder}) ? 0 : -1;
}

dirent* readdir(tx& t, DIR* folder) {
    const int error = errno;
    dirent* const copy = copy_of_entry(folder);
    if (copy == nullptr || !save_position(t, folder)) return nullptr;
    errno = error;
    const dirent* const entry = ::readdir(folder);
    if (entry == nullptr) return nullptr;
    copy_out(t, copy, entry, entry->d_reclen < sizeof *copy ? entry->d_reclen : sizeof *copy);
    return copy;
}

void rewinddir(tx& t, DIR* folder) {
    if (!save_position(t, folder)) become_irrevocable(t, "rewinddir, without memory to save the position");
    ::rewinddir(folder);
}
void seekdir(tx& t, DIR* folder, long position) {
    if (!save_position(t, folder)) become_irrevocable(t, "seekdir, without memory to save the position");
    ::seekdir(folder, position);
}
long telldir(tx& t, DIR* folder) { return lock_folder(t, folder) ? ::telldir(folder) : -1; }
int dirfd(tx&, DIR* folder) { return ::dirfd(folder); }

}  // namespace tutti::libc
