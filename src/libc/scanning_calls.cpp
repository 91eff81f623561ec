// scanf and related functions. They read a string or a stream only as far as the scan needs, in pieces of growing size.
#include <algorithm>
#include <cerrno>
#include <climits>

#include "libc/file.hpp"
#include "libc/memory.hpp"
#include "libc/scanning.hpp"
#include "tutti/libc/functions.hpp"

namespace tutti::libc {
namespace {

/// The bytes that a scan has read from a stream, in memory of the transaction.
class taken {
public:
    explicit taken(tx& t) noexcept : t_{t} {}

    /// Appends bytes. Returns false and sets errno to ENOMEM on failure.
    [[nodiscard]] bool append(const char* bytes, std::size_t size) {
        if (size_ + size + 1 > room_) {
            const std::size_t room = 2 * (size_ + size + 1);
            auto* const larger = static_cast<char*>(private_memory(t_, room));
            if (larger == nullptr) return false;
            std::copy_n(at_, size_, larger);
            at_ = larger;
            room_ = room;
        }
        std::copy_n(bytes, size, at_ + size_);
        size_ += size;
        at_[size_] = 0;
        return true;
    }
    [[nodiscard]] const char* begin() const noexcept { return at_; }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }

private:
    tx& t_;
    char local_[256]{};
    char* at_ = local_;
    std::size_t size_ = 0;
    std::size_t room_ = sizeof local_;
};

/// Returns the reason why the stream gave no bytes, or 0 at its end.
int error_of(FILE* f) noexcept { return ::feof(f) == 0 ? errno : 0; }

/// Scans the bytes of a stream that the transaction owns. The bytes that the scan did not use stay in the stream,
/// because they are still in its buffer.
int scan_owned(file& from, FILE* f, scan& what, taken& bytes) {
    for (;;) {
        const std::size_t more = from.available();
        if (!bytes.append(from.next_bytes(), more)) return EOF;
        std::size_t used = 0;
        const scan::outcome result = what.over(bytes.begin(), bytes.size(), used);
        if (result == scan::outcome::failed) return EOF;
        if (result == scan::outcome::found) {
            from.skip(more - (bytes.size() - used));
            return what.deliver();
        }
        what.drop();
        from.skip(more);
        if (from.fill()) continue;
        if (what.over(bytes.begin(), bytes.size(), used, error_of(f)) == scan::outcome::failed) return EOF;
        return what.deliver();
    }
}

int scan_finally(FILE* f, scan& what, taken& bytes) {
    for (;;) {
        std::size_t used = 0;
        const scan::outcome result = what.over(bytes.begin(), bytes.size(), used);
        if (result == scan::outcome::failed) return EOF;
        if (result == scan::outcome::found) {
            if (used < bytes.size()) ::ungetc(static_cast<unsigned char>(bytes.begin()[used]), f);
            return what.deliver();
        }
        const int c = ::getc(f);
        if (c == EOF) {
            const int error = error_of(f);
            if (error != 0 && what.over(bytes.begin(), bytes.size(), used, error) == scan::outcome::failed) return EOF;
            return what.deliver();
        }
        const char byte = static_cast<char>(c);
        if (!bytes.append(&byte, 1)) return EOF;
    }
}

}  // namespace

int vsscanf(tx& t, const char* s, const char* format, va_list arguments) {
    scan what{t};
    if (!what.prepare(format, arguments)) return EOF;
    constexpr std::size_t first_piece = 64;
    for (std::size_t limit = first_piece;; limit *= 4) {
        const std::size_t size = length(t, s, limit);
        const private_array<char> copy{t, size + 1};
        if (copy.at == nullptr) return EOF;
        copy_in(t, copy.at, s, size);
        copy.at[size] = 0;
        if (size < limit) return what.over_string(copy.at, size) ? what.deliver() : EOF;
        std::size_t used = 0;
        const scan::outcome result = what.over(copy.at, size, used);
        if (result == scan::outcome::failed) return EOF;
        if (result == scan::outcome::found) return what.deliver();
        what.drop();
    }
}

int vfscanf(tx& t, FILE* f, const char* format, va_list arguments) {
    scan what{t};
    if (!what.prepare(format, arguments)) return EOF;
    taken bytes{t};
    file from{t, f};
    return from.is_owned() ? scan_owned(from, f, what, bytes) : scan_finally(f, what, bytes);
}
int vscanf(tx& t, const char* format, va_list arguments) { return libc::vfscanf(t, stdin, format, arguments); }

}  // namespace tutti::libc
