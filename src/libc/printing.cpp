// printf to memory and to a descriptor. As in glibc, the text before a failing conversion is printed.
#include <algorithm>
#include <cerrno>
#include <climits>

#include "libc/descriptor_table.hpp"
#include "libc/formatting.hpp"
#include "libc/memory.hpp"
#include "tutti/libc/functions.hpp"

namespace tutti::libc {

int vsnprintf(tx& t, char* to, std::size_t size, const char* format, va_list arguments) {
    text_of_format text{t};
    const bool complete = text.format(format, arguments);
    const int error = errno;
    if (size != 0) {
        const std::size_t fits = std::min(size - 1, text.size());
        copy_out(t, to, text.begin(), fits);
        write(t, to + fits, '\0');
    }
    errno = error;
    return complete ? static_cast<int>(text.size()) : -1;
}

int vsprintf(tx& t, char* to, const char* format, va_list arguments) {
    return libc::vsnprintf(t, to, INT_MAX, format, arguments);
}

int vasprintf(tx& t, char** to, const char* format, va_list arguments) {
    text_of_format text{t};
    if (!text.format(format, arguments)) return -1;
    auto* const copy = static_cast<char*>(libc::malloc(t, text.size() + 1));
    if (copy == nullptr) return -1;
    copy_out(t, copy, text.begin(), text.size());
    write(t, copy + text.size(), '\0');
    write(t, to, copy);
    return static_cast<int>(text.size());
}

int vdprintf(tx& t, int fd, const char* format, va_list arguments) {
    text_of_format text{t};
    const bool complete = text.format(format, arguments);
    const int error = errno;
    std::size_t n = 0;
    while (n != text.size()) {
        const ssize_t written = write_private(t, fd, text.begin() + n, text.size() - n);
        if (written < 0) return -1;
        n += static_cast<std::size_t>(written);
    }
    if (complete) return static_cast<int>(n);
    errno = error;
    return -1;
}

}  // namespace tutti::libc
