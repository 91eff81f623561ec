// printf into memory.
#include <algorithm>
#include <climits>

#include "libc/formatting.hpp"
#include "libc/memory.hpp"
#include "tutti/libc.hpp"

namespace tutti::libc {

int vsnprintf(tx& t, char* to, std::size_t size, const char* format, va_list arguments) {
    text_of_format text{t};
    if (!text.format(format, arguments)) return -1;
    if (size != 0) {
        const std::size_t fits = std::min(size - 1, text.size());
        copy_out(t, to, text.begin(), fits);
        write(t, to + fits, '\0');
    }
    return static_cast<int>(text.size());
}

int vsprintf(tx& t, char* to, const char* format, va_list arguments) {
    return libc::vsnprintf(t, to, INT_MAX, format, arguments);
}

}  // namespace tutti::libc
