#include "libc/scanning.hpp"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cwchar>
#include <string_view>

#include "api/hooks/language.hpp"
#include "libc/memory.hpp"
#include "tutti/libc/functions.hpp"

namespace tutti::libc {

/// The memory to which an argument of scanf points.
struct scan::target {
    char* to;            ///< memory of the program
    std::size_t offset;  ///< offset of the private place in the room
    std::size_t fixed;   ///< size of the place; 0: the place grows with the input
    std::size_t limit;   ///< maximum number of characters, if the place grows
    std::size_t unit;    ///< size of a character
    bool allocates;      ///< glibc stores a pointer to memory that it allocates
};

namespace {

constexpr detail::destroyer release = [](void* p) { std::free(p); };

std::size_t number(const char*& at) noexcept {
    std::size_t n = 0;
    while (*at >= '0' && *at <= '9') {
        if (n < INT_MAX / 10) n = 10 * n + static_cast<std::size_t>(*at - '0');
        ++at;
    }
    return n;
}

/// A conversion that stores a result.
struct conversion {
    std::size_t position = 0;  ///< position of the conversion's argument, from 1; 0: the next argument
    std::size_t width = 0;     ///< 0: not given
    char length[3]{};
    bool allocates = false;
    char letter = 0;
};

bool read_set(const char*& at) noexcept {
    if (*at == '^') ++at;
    if (*at == ']') ++at;
    while (*at != 0 && *at != ']') ++at;
    return *at++ != 0;
}

/// Finds the next conversion after `at` that stores a result, and moves `at` after it. Returns false if glibc would
/// reach no such conversion.
bool next_conversion(const char*& at, conversion& c) noexcept {
    while (*at != 0) {
        if (*at++ != '%') continue;
        c = {};
        bool stores = true;
        c.width = number(at);
        if (*at == '$' && c.width != 0) {
            ++at;
            c.position = c.width;
            c.width = 0;
        }
        for (; *at == '*' || *at == '\'' || *at == 'I'; ++at) stores = stores && *at != '*';
        if (c.width == 0) c.width = number(at);
        for (std::size_t n = 0; *at != 0 && std::strchr("hlLqjztm", *at) != nullptr; ++at) {
            if (*at == 'm') c.allocates = true;
            else if (n + 1 < sizeof c.length) c.length[n++] = *at;
        }
        if (*at == 0) return false;
        c.letter = *at++;
        if (c.letter == '[' && !read_set(at)) return false;
        if (c.letter == '%') continue;
        if (std::strchr("diouxXpeEfFgGaAsScC[n", c.letter) == nullptr) return false;
        if (stores) return true;
    }
    return false;
}

std::size_t size_of_number(const conversion& c) noexcept {
    const std::string_view length{c.length};
    if (c.letter == 'p') return sizeof(void*);
    if (std::strchr("eEfFgGaA", c.letter) != nullptr) {
        constexpr std::size_t extended = 10;  // scanf never stores the rest of the sixteen bytes
        if (length == "L" || length == "ll" || length == "q") return extended;
        return length == "l" ? sizeof(double) : sizeof(float);
    }
    if (length == "hh") return sizeof(char);
    if (length == "h") return sizeof(short);
    return length.empty() ? sizeof(int) : sizeof(long);
}

/// A stream that reads private bytes.
struct source {
    const char* at;
    std::size_t left;
    std::size_t given;
    bool at_end;
    int error;  ///< error that ends the input; 0: the input ends normally
};

ssize_t give(void* cookie, char* to, std::size_t size) noexcept {
    auto& s = *static_cast<source*>(cookie);
    const std::size_t n = std::min(size, s.left);
    s.at_end = s.at_end || (n == 0 && size != 0);
    if (n == 0 && s.error != 0) {
        errno = s.error;
        return -1;
    }
    std::copy_n(s.at, n, to);
    s.at += n;
    s.left -= n;
    s.given += n;
    return static_cast<ssize_t>(n);
}

/// A va_list of the x86-64 ABI whose argument registers are all used up.
struct argument_list {
    unsigned gp_offset = 48;
    unsigned fp_offset = 176;
    void** overflow_arg_area;
    void* reg_save_area = nullptr;
};
static_assert(sizeof(va_list) == sizeof(argument_list));

/// Calls `call(va_list)` with the given pointers as arguments.
template <class Call>
int with_pointers(void** pointers, Call call) noexcept {
    const argument_list list{.overflow_arg_area = pointers};
    va_list arguments;
    std::memcpy(arguments, &list, sizeof list);
    return call(arguments);
}

}  // namespace

bool scan::prepare(const char* format, va_list arguments) {
    error_ = errno;
    char nothing[1];
    std::size_t size = 0;
    const char* const f = private_string(t_, format, nothing, size);
    if (f == nullptr) return false;
    format_ = static_cast<char*>(private_memory(t_, size + 1));
    if (format_ == nullptr) return false;
    std::memcpy(format_, f, size + 1);
    conversion c;
    std::size_t next = 0;
    const char* at = format_;
    while (next_conversion(at, c)) count_ = std::max(count_, c.position != 0 ? c.position : ++next);
    if (count_ > NL_ARGMAX) count_ = NL_ARGMAX;  // as in glibc
    targets_ = static_cast<target*>(private_memory(t_, (count_ + 1) * sizeof(target)));
    pointers_ = static_cast<void**>(private_memory(t_, (count_ + 1) * sizeof(void*)));
    if (targets_ == nullptr || pointers_ == nullptr) return false;
    for (std::size_t i = 0; i != count_; ++i) {
        targets_[i] = {va_arg(arguments, char*), 0, sizeof(long double), 0, 1, false};
    }
    next = 0;
    at = format_;
    while (next_conversion(at, c)) {
        const std::size_t i = (c.position != 0 ? c.position : ++next) - 1;
        if (i >= count_) break;
        target& to = targets_[i];
        if (std::strchr("sScC[", c.letter) == nullptr) {
            to.fixed = size_of_number(c);
        } else if (c.allocates) {
            to.fixed = sizeof(void*);
            to.allocates = true;
        } else {
            const bool wide = c.letter == 'S' || c.letter == 'C' || c.length[0] == 'l' || c.length[0] == 'L';
            const bool is_character = c.letter == 'c' || c.letter == 'C';
            to.unit = wide ? sizeof(wchar_t) : 1;
            to.fixed = 0;
            to.limit = c.width != 0 ? c.width : is_character ? 1 : SIZE_MAX;
        }
    }
    return true;
}

/// Assigns an aligned place to each argument, one after the other. Returns the total size.
std::size_t scan::room_for(std::size_t size) const noexcept {
    std::size_t all = 0;
    for (std::size_t i = 0; i != count_; ++i) {
        target& to = targets_[i];
        const std::size_t here = to.fixed != 0 ? to.fixed : (std::min(to.limit, size) + 1) * to.unit;
        to.offset = all;
        all += (here + 15) & ~std::size_t{15};
    }
    return all;
}

void scan::place(char* room, std::size_t size, unsigned char filling) noexcept {
    std::fill_n(room, size, static_cast<char>(filling));  // the condition is for formats without places
    for (std::size_t i = 0; i != count_; ++i) pointers_[i] = room + targets_[i].offset;
}

template <class Call>
bool scan::both(std::size_t size, Call call) {
    drop();
    filled_ = room_for(size);
    if (2 * filled_ > room_size_) {
        room_size_ = 4 * filled_;
        room_ = static_cast<char*>(private_memory(t_, room_size_));
        if (room_ == nullptr) return false;
    }
    // From here to the end of the function, nothing leaves the frame.
    const int error = errno;
    place(room_, filled_, 0x00);
    errno = error_;
    result_ = call();
    for (std::size_t i = 0; i != count_; ++i) {
        if (targets_[i].allocates) std::free(*reinterpret_cast<void**>(room_ + targets_[i].offset));
    }
    place(room_ + filled_, filled_, 0xff);
    errno = error_;
    result_ = call();
    last_error_ = errno;
    errno = error;
    holds_ = true;
    return true;
}

void scan::drop() noexcept {
    if (!holds_) return;
    holds_ = false;
    for (std::size_t i = 0; i != count_; ++i) {
        if (!targets_[i].allocates) continue;
        void* const memory = *reinterpret_cast<void**>(room_ + filled_ + targets_[i].offset);
        if (memory != reinterpret_cast<void*>(-1)) std::free(memory);
    }
}

bool scan::over_string(const char* string, std::size_t size) {
    return both(size, [&] {
        return with_pointers(pointers_, [&](va_list list) { return std::vsscanf(string, format_, list); });
    });
}

scan::outcome scan::over(const char* bytes, std::size_t size, std::size_t& used, int error) {
    bool at_end = false;
    bool opened = true;
    const bool made = both(size, [&] {
        source from{bytes, size, 0, false, error};
        FILE* const f = ::fopencookie(&from, "r", {.read = give, .write = nullptr, .seek = nullptr, .close = nullptr});
        if (f == nullptr) {
            opened = false;
            return EOF;
        }
        const int result = with_pointers(pointers_, [&](va_list list) { return std::vfscanf(f, format_, list); });
        used = from.given - static_cast<std::size_t>(f->_IO_read_end - f->_IO_read_ptr);
        at_end = from.at_end;
        const int says = errno;
        std::fclose(f);
        errno = says;
        return result;
    });
    if (made && opened) return at_end ? outcome::wants_more : outcome::found;
    drop();
    errno = ENOMEM;
    return outcome::failed;
}

int scan::deliver() {
    if (!holds_) return EOF;
    const auto untouched = reinterpret_cast<void*>(-1);
    // The memory is registered first, before any other call can leave the frame.
    for (std::size_t i = 0; i != count_; ++i) {
        if (!targets_[i].allocates) continue;
        void*& memory = *reinterpret_cast<void**>(room_ + filled_ + targets_[i].offset);
        if (memory == untouched || memory == nullptr) continue;
        try {
            api::record_allocation(static_cast<descriptor&>(t_), memory, release);
        } catch (const std::bad_alloc&) {
            // Memory that is already registered is freed when the transaction ends. The transaction cannot continue for
            // long, because memory is exhausted.
            std::free(memory);
            memory = untouched;
            last_error_ = ENOMEM;
            result_ = EOF;
        }
    }
    holds_ = false;
    for (std::size_t i = 0; i != count_; ++i) {
        const target& to = targets_[i];
        const char* const first = room_ + to.offset;
        const char* const second = first + filled_;
        if (to.allocates) {
            void* const memory = *reinterpret_cast<void* const*>(second);
            if (memory != untouched) write(t_, reinterpret_cast<void**>(to.to), memory);
            continue;
        }
        const std::size_t end = i + 1 != count_ ? targets_[i + 1].offset - to.offset : filled_ - to.offset;
        for (std::size_t begin = 0; begin != end;) {
            std::size_t n = 0;
            while (begin + n != end && first[begin + n] == second[begin + n]) ++n;
            if (n != 0) copy_out(t_, to.to + begin, second + begin, n);
            begin += n;
            while (begin != end && first[begin] != second[begin]) ++begin;
        }
    }
    errno = last_error_;
    return result_;
}

}  // namespace tutti::libc
