// Reads and writes bytes through descriptors, and moves the position. In a regular file the position moves immediately,
// and a roll-back restores it (paper 004, figure 3). Output is irrevocable, because only the kernel knows how much of
// the output the file accepts.
#include <fcntl.h>
#include <limits.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "libc/descriptor_table.hpp"
#include "libc/effects.hpp"
#include "libc/memory.hpp"
#include "tutti/libc/functions.hpp"

namespace tutti::libc {
namespace {

constexpr std::size_t max_part = std::size_t{64} << 10;
constexpr std::size_t max_transfer = 0x7ffff000;  // maximum size of one call in the kernel

struct restore_position {
    int fd;
    off_t position;
    void operator()() const noexcept { ::lseek(fd, position, SEEK_SET); }
};
struct restore_size {
    int fd;
    off_t size;
    void operator()() const noexcept {
        if (::ftruncate(fd, size) != 0) return;  // fails, for instance, if the file has become immutable
    }
};

/// Makes a roll-back restore the position. Returns the position, or -1 if the file has no position or memory ran out.
off_t save_position(tx& t, int fd) {
    const off_t position = ::lseek(fd, 0, SEEK_CUR);
    if (position < 0) return -1;
    auto* const undo = prepare_undo<restore_position>(t);
    if (undo == nullptr) return -1;
    undo->arm({fd, position});
    return position;
}

/// Calls `part(private bytes, size, bytes before)` until `count` bytes are transferred, or until a call transfers fewer
/// bytes than requested.
template <class Part>
ssize_t in_parts(tx& t, void* to, std::size_t count, Part part) {
    const private_array<char> bytes{t, std::min(count, max_part)};
    if (bytes.at == nullptr) return -1;
    std::size_t n = 0;
    do {
        const std::size_t wanted = std::min(count - n, max_part);
        const ssize_t got = part(bytes.at, wanted, n);
        if (got < 0) return n != 0 ? static_cast<ssize_t>(n) : -1;
        copy_out(t, static_cast<char*>(to) + n, bytes.at, static_cast<std::size_t>(got));
        n += static_cast<std::size_t>(got);
        if (static_cast<std::size_t>(got) < wanted) break;
    } while (n < count);
    return static_cast<ssize_t>(n);
}

/// Reads once, at most as many bytes as one call can read, because bytes that the program does not receive are lost.
template <class Read>
ssize_t read_irrevocably(tx& t, void* to, std::size_t count, Read read) {
    become_irrevocable(t, "input from a descriptor that cannot be read twice", "read before the block");
    if (runs_without_barriers(t)) return read(to, count);
    return in_parts(t, to, std::min(count, max_part),
                    [&](void* bytes, std::size_t size, std::size_t) { return read(bytes, size); });
}

/// Checks for those errors of an output call that can be detected without a system call.
bool accepts_output(tx& t, int fd) noexcept {
    if (!is_usable(t, fd)) return false;
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
ssize_t write_irrevocably(tx& t, int fd, const void* from, std::size_t count, Write write) {
    if (!accepts_output(t, fd)) return -1;
    become_irrevocable(
        t, "output to a descriptor",
        "write after the block or in a commit action, or to a stream, whose buffer a roll-back restores");
    if (runs_without_barriers(t)) return write(from, count);
    if (!lock_for_output(t, fd)) return -1;
    const private_array<char> bytes{t, count};
    if (bytes.at == nullptr) {
        errno = ENOMEM;
        return -1;
    }
    copy_in(t, bytes.at, from, count);
    return write(bytes.at, count);
}

/// Private copies of the parts that readv or writev uses. Converts to false, with errno set, if copying has failed.
class all_parts {
public:
    all_parts(tx& t, const iovec* parts, int count)
        : parts_{t, count > 0 && count <= IOV_MAX ? static_cast<std::size_t>(count) : 0} {
        if (count < 0 || count > IOV_MAX) {
            errno = EINVAL;
            return;
        }
        if (parts_.at == nullptr) return;
        count_ = static_cast<std::size_t>(count);
        copy_in(t, parts_.at, parts, count_ * sizeof(iovec));
        for (std::size_t i = 0; i != count_; ++i) {
            std::size_t& here = parts_.at[i].iov_len;
            if (here > SSIZE_MAX) {
                errno = EINVAL;
                return;
            }
            here = std::min(here, max_transfer - size_);
            size_ += here;
        }
        good_ = true;
    }
    explicit operator bool() const noexcept { return good_; }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    /// Copies all parts, one after the other.
    void gather(tx& t, char* to) const {
        for (std::size_t i = 0; i != count_; to += parts_.at[i++].iov_len)
            copy_in(t, to, parts_.at[i].iov_base, parts_.at[i].iov_len);
    }
    /// For a regular file, calls `part(to, size, bytes before)` for each part, until a call transfers fewer bytes than
    /// requested. For other files, calls `once(private bytes, size)` once for all parts together, because more bytes
    /// may arrive later.
    template <class Part, class Once>
    ssize_t scattered(tx& t, int fd, Part part, Once once) const {
        struct stat about;
        if (::fstat(fd, &about) != 0) return -1;
        if (!S_ISREG(about.st_mode)) return at_once(t, once);
        if (size_ == 0) return part(nullptr, 0, 0);
        std::size_t n = 0;
        for (std::size_t i = 0; i != count_; ++i) {
            const iovec& here = parts_.at[i];
            if (here.iov_len == 0) continue;
            const ssize_t got = part(here.iov_base, here.iov_len, n);
            if (got < 0) return n != 0 ? static_cast<ssize_t>(n) : -1;
            n += static_cast<std::size_t>(got);
            if (static_cast<std::size_t>(got) < here.iov_len) break;
        }
        return static_cast<ssize_t>(n);
    }

private:
    template <class Once>
    ssize_t at_once(tx& t, Once once) const {
        become_irrevocable(t, "input from a descriptor that cannot be read twice", "read before the block");
        const private_array<char> bytes{t, size_};
        if (bytes.at == nullptr) return -1;
        const ssize_t got = once(bytes.at, size_);
        auto left = static_cast<std::size_t>(std::max<ssize_t>(got, 0));
        const char* from = bytes.at;
        for (std::size_t i = 0; left != 0; ++i) {
            const std::size_t here = std::min(left, parts_.at[i].iov_len);
            copy_out(t, parts_.at[i].iov_base, from, here);
            from += here;
            left -= here;
        }
        return got;
    }

    private_array<iovec> parts_;
    std::size_t count_ = 0;
    std::size_t size_ = 0;
    bool good_ = false;
};

template <class Write>
ssize_t write_gathered(tx& t, int fd, const all_parts& parts, Write write) {
    become_irrevocable(
        t, "output to a descriptor",
        "write after the block or in a commit action, or to a stream, whose buffer a roll-back restores");
    if (!runs_without_barriers(t) && !lock_for_output(t, fd)) return -1;
    const private_array<char> bytes{t, parts.size()};
    if (bytes.at == nullptr) return -1;
    parts.gather(t, bytes.at);
    return write(bytes.at, parts.size());
}

}  // namespace

ssize_t read(tx& t, int fd, void* to, std::size_t count) {
    struct stat about;
    if (!is_usable(t, fd) || ::fstat(fd, &about) != 0) return -1;
    const auto once = [fd](void* bytes, std::size_t size) { return ::read(fd, bytes, size); };
    if (S_ISDIR(about.st_mode)) return once(nullptr, 0);  // fails with EISDIR
    if (!S_ISREG(about.st_mode)) return read_irrevocably(t, to, count, once);
    if (!lock_file(t, about, false) || save_position(t, fd) < 0) return -1;
    return in_parts(t, to, count, [&](void* bytes, std::size_t size, std::size_t) { return once(bytes, size); });
}

ssize_t pread(tx& t, int fd, void* to, std::size_t count, off_t from) {
    struct stat about;
    if (!is_usable(t, fd) || ::fstat(fd, &about) != 0) return -1;
    if (::lseek(fd, 0, SEEK_CUR) < 0) return -1;  // as pread fails
    const auto at = [=](void* bytes, std::size_t size, std::size_t before) {
        return ::pread(fd, bytes, size, from + static_cast<off_t>(before));
    };
    if (S_ISDIR(about.st_mode)) return at(nullptr, 0, 0);
    if (!S_ISREG(about.st_mode)) {
        return read_irrevocably(t, to, count, [&](void* bytes, std::size_t size) { return at(bytes, size, 0); });
    }
    if (!lock_file(t, about, true)) return -1;
    return in_parts(t, to, count, at);
}

ssize_t write_private(tx& t, int fd, const void* from, std::size_t count) {
    if (!accepts_output(t, fd)) return -1;
    become_irrevocable(
        t, "output to a descriptor",
        "write after the block or in a commit action, or to a stream, whose buffer a roll-back restores");
    if (!runs_without_barriers(t) && !lock_for_output(t, fd)) return -1;
    return ::write(fd, from, count);
}

ssize_t write(tx& t, int fd, const void* from, std::size_t count) {
    return write_irrevocably(t, fd, from, count,
                             [fd](const void* bytes, std::size_t size) { return ::write(fd, bytes, size); });
}

ssize_t pwrite(tx& t, int fd, const void* from, std::size_t count, off_t to) {
    return write_irrevocably(t, fd, from, count,
                             [=](const void* bytes, std::size_t size) { return ::pwrite(fd, bytes, size, to); });
}

ssize_t readv(tx& t, int fd, const iovec* parts, int count) {
    if (!is_usable(t, fd) || ::fcntl(fd, F_GETFD) < 0) return -1;
    const all_parts all{t, parts, count};
    if (!all) return -1;
    return all.scattered(
        t, fd, [&](void* to, std::size_t size, std::size_t) { return libc::read(t, fd, to, size); },
        [fd](void* bytes, std::size_t size) { return ::read(fd, bytes, size); });
}
ssize_t preadv(tx& t, int fd, const iovec* parts, int count, off_t from) {
    if (!is_usable(t, fd) || ::fcntl(fd, F_GETFD) < 0) return -1;
    const all_parts all{t, parts, count};
    if (!all) return -1;
    return all.scattered(
        t, fd,
        [&](void* to, std::size_t size, std::size_t before) {
            return libc::pread(t, fd, to, size, from + static_cast<off_t>(before));
        },
        [=](void* bytes, std::size_t size) { return ::pread(fd, bytes, size, from); });
}
ssize_t writev(tx& t, int fd, const iovec* parts, int count) {
    if (!accepts_output(t, fd)) return -1;
    const all_parts all{t, parts, count};
    if (!all) return -1;
    return write_gathered(t, fd, all, [fd](const void* from, std::size_t size) { return ::write(fd, from, size); });
}
ssize_t pwritev(tx& t, int fd, const iovec* parts, int count, off_t to) {
    if (!accepts_output(t, fd)) return -1;
    const all_parts all{t, parts, count};
    if (!all) return -1;
    return write_gathered(t, fd, all, [=](const void* from, std::size_t size) { return ::pwrite(fd, from, size, to); });
}

off_t lseek(tx& t, int fd, off_t offset, int whence) {
    struct stat about;
    if (!is_usable(t, fd) || ::fstat(fd, &about) != 0) return -1;
    if (::lseek(fd, 0, SEEK_CUR) < 0) return -1;
    if (!lock_file(t, about, false) || save_position(t, fd) < 0) return -1;
    return ::lseek(fd, offset, whence);
}

int ftruncate(tx& t, int fd, off_t size) {
    struct stat about;
    if (!is_usable(t, fd) || ::fstat(fd, &about) != 0) return -1;
    if (size < 0 || !S_ISREG(about.st_mode)) return ::ftruncate(fd, size);  // fails
    if (!lock_file(t, about, false) || ::fstat(fd, &about) != 0) return -1;
    if (size < about.st_size) {
        if (!accepts_output(t, fd)) return ::ftruncate(fd, size);  // fails
        become_irrevocable(t, "ftruncate to fewer bytes");
        return ::ftruncate(fd, size);
    }
    auto* const undo = prepare_undo<restore_size>(t);
    if (undo == nullptr) return -1;
    const int result = ::ftruncate(fd, size);
    if (result == 0) undo->arm({fd, about.st_size});
    return result;
}

int fsync(tx& t, int fd) { return is_usable(t, fd) ? ::fsync(fd) : -1; }
int fdatasync(tx& t, int fd) { return is_usable(t, fd) ? ::fdatasync(fd) : -1; }

}  // namespace tutti::libc
