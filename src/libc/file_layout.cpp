#include "libc/file_layout.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
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

/// Returns glibc's function table of a stream. The pointer to the table follows the FILE, and shows the stream's kind.
const void* table_of(const FILE* f) noexcept {
    const void* table = nullptr;
    std::memcpy(&table, f + 1, sizeof table);
    return table;
}

/// Returns the function table of streams in memory, or null if there is no memory to open such a stream.
const void* table_in_memory() noexcept {
    char* bytes = nullptr;
    std::size_t size = 0;
    FILE* const f = ::open_memstream(&bytes, &size);
    if (f == nullptr) return nullptr;
    const void* const table = table_of(f);
    std::fclose(f);
    std::free(bytes);
    return table;
}

const void* memory_table() noexcept {
    static const void* const table = table_in_memory();
    return table;
}

/// Writes to a stream that has a buffer, and checks the FILE's fields.
bool is_layout_right() noexcept {
    FILE* const f = std::fopen("/dev/null", "r+e");
    if (f == nullptr) return true;  // no descriptor is free, which proves nothing about the layout
    char buffer[256];               // large enough, because glibc does not use a very small buffer at first
    bool right = std::setvbuf(f, buffer, _IOFBF, sizeof buffer) == 0 && std::fputs("abc", f) >= 0 &&
                 holds(f, buffer, sizeof buffer, 3) && std::memcmp(buffer, "abc", 3) == 0;
    right = right && std::setvbuf(f, buffer, _IOLBF, sizeof buffer) == 0 &&
            (static_cast<unsigned>(f->_flags) & line_buffered) != 0;
    std::fclose(f);
    return right;
}

bool test() noexcept {
    if (memory_table() == nullptr) return false;  // also proves nothing about the layout, but no stream can be used
    if (is_layout_right()) return true;
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

bool is_in_memory(const FILE* f) noexcept { return table_of(f) == memory_table(); }

}  // namespace tutti::libc
