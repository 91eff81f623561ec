#include "libc/file_layout.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstring>

namespace tutti::libc {
namespace {

constexpr unsigned magic = 0xFBAD0000, magic_bits = 0xFFFF0000, putting = 0x0800, line_buffered = 0x0200;

bool holds(const FILE* f, const char* buffer, std::size_t size, std::size_t written) noexcept {
    const auto flags = static_cast<unsigned>(f->_flags);
    return (flags & magic_bits) == magic && (flags & putting) != 0 && f->_IO_buf_base == buffer &&
           f->_IO_buf_end == buffer + size && f->_IO_write_base == buffer && f->_IO_write_ptr == buffer + written &&
           f->_IO_write_end == buffer + size && f->_fileno >= 0 && f->_mode == -1;
}

/// Writes to a stream with a buffer of its own, and looks at its fields.
bool looks_right() noexcept {
    FILE* const f = std::fopen("/dev/null", "r+e");
    if (f == nullptr) return true;  // no descriptor is free, which says nothing of the layout
    char buffer[256];               // into a very small one glibc puts nothing at first
    bool right = std::setvbuf(f, buffer, _IOFBF, sizeof buffer) == 0 && std::fputs("abc", f) >= 0 &&
                 holds(f, buffer, sizeof buffer, 3) && std::memcmp(buffer, "abc", 3) == 0;
    right = right && std::setvbuf(f, buffer, _IOLBF, sizeof buffer) == 0 &&
            (static_cast<unsigned>(f->_flags) & line_buffered) != 0;
    std::fclose(f);
    return right;
}

bool test() noexcept {
    if (looks_right()) return true;
    char version[40] = "glibc";
    ::confstr(_CS_GNU_LIBC_VERSION, version, sizeof version);
    char message[200];
    const int size = std::snprintf(message, sizeof message,
                                   "tutti: %s has another FILE than the one Tutti was built for: transactions that use "
                                   "streams run one at a time; rebuild Tutti\n",
                                   version);
    if (size > 0 && ::write(STDERR_FILENO, message, static_cast<std::size_t>(size)) < 0) return false;
    return false;
}

}  // namespace

bool is_known_layout() noexcept {
    static const bool known = test();
    return known;
}

}  // namespace tutti::libc
