// Bytes in and out of descriptors, and the position between them. In a regular file the position moves at once and a
// roll-back moves it back (paper 004, figure 3). Output is irrevocable: only the kernel can say how much of it there is
// room for.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "libc/descriptor_table.hpp"
#include "libc/effects.hpp"
#include "libc/memory.hpp"
#include "tutti/libc/functions.hpp"

namespace tutti::libc {
namespace {

constexpr std::size_t part_at_once = std::size_t{64} << 10;

struct seek_back {
    int fd;
    off_t position;
    void operator()() const noexcept { ::lseek(fd, position, SEEK_SET); }
};
struct cut_back {
    int fd;
    off_t size;
    void operator()() const noexcept {
        if (::ftruncate(fd, size) != 0) return;  // somebody has made it immutable, or such
    }
};

/// Where the position is, which a roll-back restores. -1: it has none, or there is no memory.
off_t remember_position(tx& t, int fd) {
    const off_t position = ::lseek(fd, 0, SEEK_CUR);
    if (position < 0) return -1;
    auto* const undo = prepare_undo<seek_back>(t);
    if (undo == nullptr) return -1;
    undo->arm({fd, position});
    return position;
}

/// Calls `part(private bytes, size, how many came before)` until it has `count`, or gets fewer than it asked for.
template <class Part>
ssize_t in_parts(tx& t, void* to, std::size_t count, Part part) {
    const private_array<char> bytes{t, std::min(count, part_at_once)};
    if (bytes.at == nullptr) return -1;
    std::size_t n = 0;
    do {
        const std::size_t wanted = std::min(count - n, part_at_once);
        const ssize_t got = part(bytes.at, wanted, n);
        if (got < 0) return n != 0 ? static_cast<ssize_t>(n) : -1;
        copy_out(t, static_cast<char*>(to) + n, bytes.at, static_cast<std::size_t>(got));
        n += static_cast<std::size_t>(got);
        if (static_cast<std::size_t>(got) < wanted) break;
    } while (n < count);
    return static_cast<ssize_t>(n);
}

/// One call of read, whose bytes are gone if nobody takes them: at most as many as are taken at once.
template <class Read>
ssize_t read_finally(tx& t, void* to, std::size_t count, Read read) {
    become_irrevocable(t, "input from a descriptor that cannot be read twice", "read before the block");
    if (runs_plainly(t)) return read(to, count);
    return in_parts(t, to, std::min(count, part_at_once),
                    [&](void* bytes, std::size_t size, std::size_t) { return read(bytes, size); });
}

/// Errors that need no attempt.
bool takes_output(tx& t, int fd) noexcept {
    if (!usable(t, fd)) return false;
    const int flags = ::fcntl(fd, F_GETFL);
    if (flags < 0) return false;
    if ((flags & O_ACCMODE) != O_RDONLY && (flags & O_PATH) == 0) return true;
    errno = EBADF;
    return false;
}

bool lock_for_output(tx& t, int fd) {
    struct stat about;
    return ::fstat(fd, &about) == 0 && (!S_ISREG(about.st_mode) || lock_file(t, about, false));
}

template <class Write>
ssize_t write_finally(tx& t, int fd, const void* from, std::size_t count, Write write) {
    if (!takes_output(t, fd)) return -1;
    become_irrevocable(t, "output to a descriptor",
                       "write after the block or in a commit action, or to a stream, whose buffer can be taken back");
    if (runs_plainly(t)) return write(from, count);
    if (!lock_for_output(t, fd)) return -1;
    const private_array<char> bytes{t, count};
    if (bytes.at == nullptr) {
        errno = ENOMEM;
        return -1;
    }
    copy_in(t, bytes.at, from, count);
    return write(bytes.at, count);
}

}  // namespace

ssize_t read(tx& t, int fd, void* to, std::size_t count) {
    struct stat about;
    if (!usable(t, fd) || ::fstat(fd, &about) != 0) return -1;
    const auto once = [fd](void* bytes, std::size_t size) { return ::read(fd, bytes, size); };
    if (S_ISDIR(about.st_mode)) return once(nullptr, 0);  // says that this is one
    if (!S_ISREG(about.st_mode)) return read_finally(t, to, count, once);
    if (!lock_file(t, about, false) || remember_position(t, fd) < 0) return -1;
    return in_parts(t, to, count, [&](void* bytes, std::size_t size, std::size_t) { return once(bytes, size); });
}

ssize_t pread(tx& t, int fd, void* to, std::size_t count, off_t from) {
    struct stat about;
    if (!usable(t, fd) || ::fstat(fd, &about) != 0) return -1;
    if (::lseek(fd, 0, SEEK_CUR) < 0) return -1;  // as pread
    const auto at = [=](void* bytes, std::size_t size, std::size_t before) {
        return ::pread(fd, bytes, size, from + static_cast<off_t>(before));
    };
    if (S_ISDIR(about.st_mode)) return at(nullptr, 0, 0);
    if (!S_ISREG(about.st_mode)) {
        return read_finally(t, to, count, [&](void* bytes, std::size_t size) { return at(bytes, size, 0); });
    }
    if (!lock_file(t, about, true)) return -1;
    return in_parts(t, to, count, at);
}

ssize_t write_private(tx& t, int fd, const void* from, std::size_t count) {
    if (!takes_output(t, fd)) return -1;
    become_irrevocable(t, "output to a descriptor",
                       "write after the block or in a commit action, or to a stream, whose buffer can be taken back");
    if (!runs_plainly(t) && !lock_for_output(t, fd)) return -1;
    return ::write(fd, from, count);
}

ssize_t write(tx& t, int fd, const void* from, std::size_t count) {
    return write_finally(t, fd, from, count,
                         [fd](const void* bytes, std::size_t size) { return ::write(fd, bytes, size); });
}

ssize_t pwrite(tx& t, int fd, const void* from, std::size_t count, off_t to) {
    return write_finally(t, fd, from, count,
                         [=](const void* bytes, std::size_t size) { return ::pwrite(fd, bytes, size, to); });
}

off_t lseek(tx& t, int fd, off_t offset, int whence) {
    struct stat about;
    if (!usable(t, fd) || ::fstat(fd, &about) != 0) return -1;
    if (::lseek(fd, 0, SEEK_CUR) < 0) return -1;
    if (!lock_file(t, about, false) || remember_position(t, fd) < 0) return -1;
    return ::lseek(fd, offset, whence);
}

int ftruncate(tx& t, int fd, off_t size) {
    struct stat about;
    if (!usable(t, fd) || ::fstat(fd, &about) != 0) return -1;
    if (size < 0 || !S_ISREG(about.st_mode)) return ::ftruncate(fd, size);  // which fails
    if (!lock_file(t, about, false) || ::fstat(fd, &about) != 0) return -1;
    if (size < about.st_size) {
        if (!takes_output(t, fd)) return ::ftruncate(fd, size);  // which fails
        become_irrevocable(t, "ftruncate to fewer bytes");
        return ::ftruncate(fd, size);
    }
    auto* const undo = prepare_undo<cut_back>(t);
    if (undo == nullptr) return -1;
    const int result = ::ftruncate(fd, size);
    if (result == 0) undo->arm({fd, about.st_size});
    return result;
}

int fsync(tx& t, int fd) { return usable(t, fd) ? ::fsync(fd) : -1; }
int fdatasync(tx& t, int fd) { return usable(t, fd) ? ::fdatasync(fd) : -1; }

}  // namespace tutti::libc
