// Output to streams. Output that fits into the buffer stays there. A roll-back removes the output; otherwise glibc
// writes the output to the file together with the rest of the buffer. If a call needs a system call, the transaction
// becomes irrevocable first, so the call's result and errno are those of the system call.
#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>

#include "libc/all_streams.hpp"
#include "libc/file.hpp"
#include "libc/formatting.hpp"
#include "libc/memory.hpp"
#include "tutti/libc/functions.hpp"

namespace tutti::libc {

namespace {

/// Returns false if copying to the buffer is not sufficient.
bool put_at_once(FILE* f, const char* bytes, std::size_t size) noexcept {
    if (size > room_at_once(f)) return false;
    if (size == 0) return true;  // the stream may have no buffer yet
    std::memcpy(f->_IO_write_ptr, bytes, size);
    f->_IO_write_ptr += size;
    return true;
}

/// Makes the transaction own the stream. Returns how many bytes fit into the stream's buffer without a system call.
std::size_t room_now(tx& t, FILE* f) { return is_latest_owned(t, f) || file{t, f}.is_owned() ? room_at_once(f) : 0; }

}  // namespace

std::size_t put(tx& t, FILE* f, const char* bytes, std::size_t size) {
    if (is_latest_owned(t, f) && put_at_once(f, bytes, size)) return size;
    file to{t, f};
    if (!to.is_owned()) return ::fwrite(bytes, 1, size, f);
    if (!to.before_output(bytes, size)) return 0;
    return put_at_once(f, bytes, size) ? size : ::fwrite_unlocked(bytes, 1, size, f);
}

int fputc(tx& t, int c, FILE* f) {
    const char byte = static_cast<char>(c);
    if (is_latest_owned(t, f) && room_at_once(f) != 0) return static_cast<unsigned char>(*f->_IO_write_ptr++ = byte);
    file to{t, f};
    if (!to.is_owned()) return ::fputc(c, f);
    if (!to.before_output(&byte, 1)) return EOF;
    return put_at_once(f, &byte, 1) ? static_cast<unsigned char>(byte) : ::fputc_unlocked(c, f);
}
int putc(tx& t, int c, FILE* f) { return libc::fputc(t, c, f); }
int putchar(tx& t, int c) { return libc::fputc(t, c, stdout); }

int fputs(tx& t, const char* s, FILE* f) {
    std::size_t size = 0;
    if (const std::size_t there_is = room_now(t, f); there_is != 0) {
        bool whole = false;
        size = copy_string(t, f->_IO_write_ptr, there_is, s, whole);
        if (whole) {
            f->_IO_write_ptr += size;
            return 1;
        }
    }
    char room[512];
    const char* const text = private_string(t, s, room, size);
    return text != nullptr && put(t, f, text, size) == size ? 1 : EOF;
}

int puts(tx& t, const char* s) {
    std::size_t size = length(t, s);
    const private_array<char> text{t, size + 1};
    if (text.at == nullptr) return EOF;
    copy_in(t, text.at, s, size);
    text.at[size++] = '\n';
    return put(t, stdout, text.at, size) == size ? static_cast<int>(std::min<std::size_t>(size, INT_MAX)) : EOF;
}

std::size_t fwrite(tx& t, const void* from, std::size_t size, std::size_t count, FILE* f) {
    std::size_t bytes = 0;
    if (size == 0 || count == 0) return 0;
    if (__builtin_mul_overflow(size, count, &bytes)) {
        errno = EOVERFLOW;
        return 0;
    }
    if (bytes <= room_now(t, f)) {
        copy_in(t, f->_IO_write_ptr, from, bytes);
        f->_IO_write_ptr += bytes;
        return count;
    }
    const private_array<char> data{t, bytes};
    if (data.at == nullptr) return 0;
    copy_in(t, data.at, from, bytes);
    return put(t, f, data.at, bytes) / size;
}

int vfprintf(tx& t, FILE* f, const char* format, va_list arguments) {
    text_of_format text{t};
    const bool complete = text.format(format, arguments);
    if (complete && text.size() == 0) {
        const file to{t, f};
        return std::fprintf(f, "%s", "");  // checks whether the stream accepts output, which may fail
    }
    const int error = errno;
    const bool printed = put(t, f, text.begin(), text.size()) == text.size();  // also an incomplete text, as in glibc
    if (printed && !complete) errno = error;
    return printed && complete ? static_cast<int>(text.size()) : -1;
}
int vprintf(tx& t, const char* format, va_list arguments) { return libc::vfprintf(t, stdout, format, arguments); }

int fflush(tx& t, FILE* f) {
    if (f == nullptr) {  // all streams
        become_irrevocable(t, "a flush of all streams", "name the stream, and flush after the block");
        return flush_all(in_language(t) ? nullptr : &t);
    }
    file of{t, f};
    if (!of.is_owned()) return ::fflush(f);
    if (!of.before_flush()) return EOF;
    if (of.available() != 0) of.before_moving();  // because a seek gives back bytes that were read ahead
    if (!of.is_detached()) return ::fflush_unlocked(f);
    of.discard_read_ahead();
    return 0;
}

}  // namespace tutti::libc
