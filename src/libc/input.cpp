// Input from streams. After a roll-back, a regular file can be read again, but a pipe or a terminal cannot. So a call
// that reads from a pipe or a terminal and finds the buffer empty first makes the transaction irrevocable.
#include <algorithm>
#include <cerrno>
#include <cstring>

#include "libc/file.hpp"
#include "libc/memory.hpp"
#include "tutti/libc/functions.hpp"

namespace tutti::libc {
namespace {

/// Locks a stream that the transaction does not own, to read a part of it without interruption into private memory.
class locked {
public:
    explicit locked(FILE* f) noexcept : f_{f} { ::flockfile(f_); }
    ~locked() { ::funlockfile(f_); }
    locked(const locked&) = delete;
    locked& operator=(const locked&) = delete;

private:
    FILE* f_;
};

/// Reads up to `size` bytes. If `last` is a character, stops after the first `last` in the input. Sets `n` to the
/// number of bytes read.
bool read_until(tx& t, FILE* f, char* to, std::size_t size, int last, std::size_t& n) {
    n = 0;
    file from{t, f};
    while (n != size) {
        if (from.available() == 0 && !from.fill()) return false;
        std::size_t part = std::min(size - n, from.available());
        const void* const end = last >= 0 ? std::memchr(from.next_bytes(), last, part) : nullptr;
        if (end != nullptr) part = static_cast<std::size_t>(static_cast<const char*>(end) - from.next_bytes()) + 1;
        copy_out(t, to + n, from.next_bytes(), part);
        from.skip(part);
        n += part;
        if (end != nullptr) return true;
    }
    return true;
}

/// Works like read_until, for a stream that the transaction does not own. The call must be irrevocable.
bool read_irrevocably_until(tx& t, FILE* f, char* to, std::size_t size, int last, std::size_t& n) {
    n = 0;
    char part[512];
    while (n != size) {
        std::size_t now = 0;
        int c = 0;
        {
            const locked guard{f};
            while (now != std::min(sizeof part, size - n) && (c = ::getc_unlocked(f)) != EOF) {
                part[now++] = static_cast<char>(c);
                if (c == last) break;
            }
        }
        copy_out(t, to + n, part, now);
        n += now;
        if (c == EOF) return false;
        if (c == last) return true;
    }
    return true;
}

bool is_owned(tx& t, FILE* f) { return is_latest_owned(t, f) || file{t, f}.is_owned(); }

/// Returns false if the end of the file or an error occurs before `last` is found and before `size` bytes are read.
bool get(tx& t, FILE* f, char* to, std::size_t size, int last, std::size_t& n) {
    return is_owned(t, f) ? read_until(t, f, to, size, last, n) : read_irrevocably_until(t, f, to, size, last, n);
}

}  // namespace

int fgetc(tx& t, FILE* f) {
    if (is_latest_owned(t, f) && available_at_once(f) != 0) return static_cast<unsigned char>(*f->_IO_read_ptr++);
    file from{t, f};
    if (!from.is_owned()) return ::fgetc(f);
    return from.available() != 0 || from.fill() ? ::getc_unlocked(f) : EOF;
}
int getc(tx& t, FILE* f) { return libc::fgetc(t, f); }
int getchar(tx& t) { return libc::fgetc(t, stdin); }

int ungetc(tx& t, int c, FILE* f) {
    if (c == EOF) return EOF;
    file from{t, f};
    if (!from.is_owned()) return ::ungetc(c, f);
    const bool was_read =
        from.pending() == 0 && f->_IO_read_ptr > f->_IO_read_base && f->_IO_read_ptr[-1] == static_cast<char>(c);
    if (!was_read) from.before_irreversible_call("ungetc of another character than the one that was read");
    return ::ungetc(c, f);
}

char* fgets(tx& t, char* to, int size, FILE* f) {
    if (size <= 0) return nullptr;
    std::size_t n = 0;
    if (size > 1 && is_owned(t, f)) {
        char line[512];
        n = std::min({static_cast<std::size_t>(size) - 1, available_at_once(f), sizeof line - 1});
        // If nothing has been read from a stream, it has no buffer yet.
        const void* const end = n != 0 ? std::memchr(f->_IO_read_ptr, '\n', n) : nullptr;
        if (end != nullptr) n = static_cast<std::size_t>(static_cast<const char*>(end) - f->_IO_read_ptr) + 1;
        if (end != nullptr || n == static_cast<std::size_t>(size) - 1) {
            std::memcpy(line, f->_IO_read_ptr, n);
            line[n] = '\0';
            copy_out(t, to, line, n + 1);
            f->_IO_read_ptr += n;
            return to;
        }
    }
    const bool complete = get(t, f, to, static_cast<std::size_t>(size) - 1, '\n', n);
    if (n == 0 && (!complete || size == 0)) return nullptr;
    // As in glibc, fails if an error occurs in this call, unless the file only has no more bytes for the moment.
    if (!complete && libc::feof(t, f) == 0 && errno != EAGAIN) return nullptr;
    write(t, to + n, '\0');
    return to;
}

std::size_t fread(tx& t, void* to, std::size_t size, std::size_t count, FILE* f) {
    std::size_t bytes = 0;
    std::size_t n = 0;
    if (size == 0 || count == 0) return 0;
    if (__builtin_mul_overflow(size, count, &bytes)) {
        errno = EOVERFLOW;
        return 0;
    }
    if (is_owned(t, f) && available_at_once(f) >= bytes) {
        copy_out(t, to, f->_IO_read_ptr, bytes);
        f->_IO_read_ptr += bytes;
        return count;
    }
    get(t, f, static_cast<char*>(to), bytes, -1, n);
    return n / size;
}

ssize_t getdelim(tx& t, char** line, std::size_t* room, int delimiter, FILE* f) {
    if (line == nullptr || room == nullptr) {
        errno = EINVAL;
        return -1;
    }
    if (libc::ferror(t, f) != 0) return -1;  // as in glibc, fails also after an error of an earlier call
    char* to = read(t, line);
    std::size_t has = to != nullptr ? read(t, room) : 0;
    std::size_t n = 0;
    for (;;) {
        if (has < n + 2) {
            const std::size_t wanted = std::max<std::size_t>(120, 2 * has);
            to = static_cast<char*>(libc::realloc(t, to, wanted));
            if (to == nullptr) return -1;
            has = wanted;
            write(t, line, to);
            write(t, room, has);
        }
        std::size_t part = 0;
        const bool complete = get(t, f, to + n, has - n - 1, static_cast<unsigned char>(delimiter), part);
        n += part;
        const bool ends = complete && read(t, to + n - 1) == static_cast<char>(delimiter);
        if (!ends && complete) continue;
        if (n == 0) return -1;
        write(t, to + n, '\0');
        return static_cast<ssize_t>(n);
    }
}
ssize_t getline(tx& t, char** line, std::size_t* room, FILE* f) { return libc::getdelim(t, line, room, '\n', f); }

}  // namespace tutti::libc
