#include "libc/file_overlay.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

namespace tutti::libc {
namespace {

/// Writes to the file at position `at`, or at the kernel's position if `at` is negative. Returns false and sets errno
/// on failure.
bool write_all(int fd, const char* from, std::size_t size, off64_t at) noexcept {
    while (size != 0) {
        const ssize_t n = at < 0 ? ::write(fd, from, size) : ::pwrite64(fd, from, size, at);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return false;
        from += n;
        size -= static_cast<std::size_t>(n);
        if (at >= 0) at += n;
    }
    return true;
}

/// Fills the page from the file, and with zeros after the file's end. Returns false and sets errno on failure.
bool read_page(int fd, char* to, std::size_t size, off64_t at) noexcept {
    while (size != 0) {
        const ssize_t n = ::pread64(fd, to, size, at);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return false;
        if (n == 0) break;
        to += n;
        size -= static_cast<std::size_t>(n);
        at += n;
    }
    std::memset(to, 0, size);
    return true;
}

}  // namespace

file_overlay* file_overlay::of(int fd, bool appends, off64_t position) noexcept {
    struct stat about;
    const int flags = ::fcntl(fd, F_GETFL);
    if (flags < 0 || ::fstat(fd, &about) != 0 || !S_ISREG(about.st_mode)) return nullptr;
    if (((flags & O_APPEND) != 0) != appends) return nullptr;
    return new (std::nothrow) file_overlay{fd, appends, (flags & O_ACCMODE) == O_RDWR, about, position};
}

bool file_overlay::has(off64_t at, std::size_t size) {
    constexpr auto step = static_cast<off64_t>(page_size);
    for (off64_t here = at - at % step; here < at + static_cast<off64_t>(size); here += step) {
        const auto [place, is_new] = pages_.try_emplace(here);
        if (!is_new) continue;
        // If a stream is not readable, the program cannot see the file's bytes through the stream.
        const bool is_read = is_readable_ && here < first_size_;
        if (is_read && !read_page(fd_, place->second.data(), page_size, here)) {
            pages_.erase(place);
            return false;
        }
        if (!is_read) place->second.fill(0);
    }
    return true;
}

template <class F>
void file_overlay::for_each_part(off64_t at, std::size_t size, F f) noexcept {
    for (std::size_t done = 0; done != size;) {
        const off64_t here = at + static_cast<off64_t>(done);
        const auto within = static_cast<std::size_t>(here % static_cast<off64_t>(page_size));
        const std::size_t part = std::min(size - done, page_size - within);
        const auto place = pages_.find(here - static_cast<off64_t>(within));
        f(place != pages_.end() ? place->second.data() + within : nullptr, part, done);
        done += part;
    }
}

ssize_t file_overlay::read(char* to, std::size_t size) noexcept {
    if (position_ >= size_) return 0;
    size = std::min(size, static_cast<std::size_t>(size_ - position_));
    bool is_whole = true;
    for_each_part(position_, size, [&](const char* page, std::size_t n, std::size_t done) {
        if (page != nullptr) std::memcpy(to + done, page, n);
        else is_whole = is_whole && read_page(fd_, to + done, n, position_ + static_cast<off64_t>(done));
    });
    if (!is_whole) return -1;
    position_ += static_cast<off64_t>(size);
    return static_cast<ssize_t>(size);
}

bool file_overlay::write(const char* from, std::size_t size) noexcept {
    if (size == 0) return true;
    const off64_t at = appends_ ? size_ : position_;
    off64_t end = 0;
    if (__builtin_add_overflow(at, static_cast<off64_t>(size), &end)) return false;
    try {
        if (!has(at, size)) return false;
        writes_.push_back({at, size, std::make_unique<char[]>(size), size_});
    } catch (const std::bad_alloc&) {
        return false;
    }
    char* const before = writes_.back().before.get();
    for_each_part(at, size, [=](char* place, std::size_t n, std::size_t done) {
        std::memcpy(before + done, place, n);
        std::memcpy(place, from + done, n);
    });
    position_ = end;
    size_ = std::max(size_, end);
    return true;
}

void file_overlay::undo_to(std::size_t count) noexcept {
    while (writes_.size() > count) {
        const written& last = writes_.back();
        const char* const before = last.before.get();
        for_each_part(last.at, last.size,
                      [before](char* place, std::size_t n, std::size_t done) { std::memcpy(place, before + done, n); });
        size_ = last.file_size;
        writes_.pop_back();
    }
}

bool file_overlay::apply(int fd) noexcept {
    bool is_whole = true;
    struct stat now;
    // Other writers may have appended bytes meanwhile. Their bytes come before those that are appended now.
    if (appends_ && !writes_.empty() && position_ > first_size_ && ::fstat(fd, &now) == 0)
        position_ += std::max<off64_t>(now.st_size - first_size_, 0);
    for (const written& w : writes_) {
        for_each_part(w.at, w.size, [&](const char* from, std::size_t n, std::size_t done) {
            is_whole = is_whole && write_all(fd, from, n, appends_ ? -1 : w.at + static_cast<off64_t>(done));
        });
    }
    const int error = errno;
    const bool has_moved = ::lseek64(fd, position_, SEEK_SET) >= 0;
    if (!is_whole) errno = error;
    return is_whole && has_moved;
}

}  // namespace tutti::libc
