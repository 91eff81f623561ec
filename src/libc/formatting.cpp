#include "libc/formatting.hpp"

#include <printf.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cwchar>

#include "libc/memory.hpp"

namespace tutti::libc {

union text_of_format::value {
    int i;
    long l;
    long long ll;
    double d;
    long double ld;
    const void* p;
};

/// One specification, "%...", with the numbers of the arguments that it uses, from 0. The number is -1 if the argument
/// is absent.
struct text_of_format::conversion {
    char flags[8]{};
    int width_from = -1;
    int width = 0;  // 0: not given
    int precision_from = -1;
    int precision = -1;  // -1: not given
    char length[3]{};    // modifier
    char letter = 0;
    int from = -1;
    int type = 0;  // as returned by parse_printf_format
};

namespace {

/// Parses the number at `at` and moves `at` after it. Returns 0 if there is no number, and INT_MAX for a larger number.
int number(const char*& at) noexcept {
    int n = 0;
    while (*at >= '0' && *at <= '9') {
        n = n < INT_MAX / 10 ? 10 * n + (*at - '0') : INT_MAX;
        ++at;
    }
    return n;
}

/// Parses "12$" and moves `at` after it. Returns the number of the argument, from 0, or -1 if there is no "$".
int position(const char*& at) noexcept {
    const char* behind = at;
    const int n = number(behind);
    if (n == 0 || *behind != '$') return -1;
    at = behind + 1;
    return n - 1;
}

/// Returns true if a conversion has an argument. The conversions without an argument are "%%", "%m", and conversions
/// that glibc does not know, which it prints unchanged.
bool takes_one(char letter) noexcept {
    // Supported since glibc 2.35.
    static const bool knows_binary = ::parse_printf_format("%b", 0, nullptr) == 1;
    if (letter == 'b' || letter == 'B') return knows_binary;
    return std::strchr("diouxXeEfFgGaAcspnCS", letter) != nullptr;
}

}  // namespace

bool text_of_format::reserve(std::size_t more) {
    if (more < room_ - size_) return true;
    std::size_t room = 0;
    if (__builtin_add_overflow(2 * room_, more, &room) || room > INT_MAX) {
        errno = EOVERFLOW;
        return false;
    }
    auto* const larger = static_cast<char*>(private_memory(t_, room));
    if (larger == nullptr) return false;
    std::memcpy(larger, text_, size_);
    text_ = larger;
    room_ = room;
    return true;
}

bool text_of_format::append(const char* text, std::size_t size) {
    if (!reserve(size)) return false;
    std::memcpy(text_ + size_, text, size);
    size_ += size;
    return true;
}

template <class T>
bool text_of_format::print_as(const char* spec, T printed) {
    for (;;) {
        const std::size_t room = room_ - size_;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        const int n = std::snprintf(text_ + size_, room, spec, printed);
#pragma GCC diagnostic pop
        if (n < 0) return false;
        if (static_cast<std::size_t>(n) < room) {
            size_ += static_cast<std::size_t>(n);
            return true;
        }
        if (!reserve(static_cast<std::size_t>(n))) return false;
    }
}

bool text_of_format::print_string(const char* spec, const conversion& c, const void* string) {
    if (string == nullptr) return print_as(spec, string);
    const std::size_t limit = c.precision >= 0 ? static_cast<std::size_t>(c.precision) : SIZE_MAX;
    if (c.letter == 'S' || c.length[0] == 'l') {  // glibc reports narrow characters for such a conversion
        const auto* const wide = static_cast<const wchar_t*>(string);
        const std::size_t n = length(t_, wide, limit);  // because each character makes at least one byte
        const private_array<wchar_t> copy{t_, n + 1};
        if (copy.at == nullptr) return false;
        copy_in(t_, copy.at, wide, n * sizeof(wchar_t));
        copy.at[n] = 0;
        return print_as(spec, static_cast<const wchar_t*>(copy.at));
    }
    const auto* const text = static_cast<const char*>(string);
    const std::size_t n = length(t_, text, limit);
    const private_array<char> copy{t_, n + 1};
    if (copy.at == nullptr) return false;
    copy_in(t_, copy.at, text, n);
    copy.at[n] = 0;
    return print_as(spec, static_cast<const char*>(copy.at));
}

void text_of_format::store_count(const conversion& c, void* to) {
    const auto n = static_cast<long>(size_);
    const std::string_view length{c.length};
    if (length == "hh") write(t_, static_cast<signed char*>(to), static_cast<signed char>(n));
    else if (length == "h") write(t_, static_cast<short*>(to), static_cast<short>(n));
    else if (length.empty()) write(t_, static_cast<int*>(to), static_cast<int>(n));
    else write(t_, static_cast<long*>(to), n);
}

/// Makes glibc format the conversion. The values of `*` are written into the conversion first.
bool text_of_format::print(const conversion& c, const value* values, int error) {
    conversion now = c;
    if (c.width_from >= 0) now.width = values[c.width_from].i;
    if (c.precision_from >= 0) now.precision = std::max(values[c.precision_from].i, -1);
    char spec[64];
    char* at = spec;
    *at++ = '%';
    for (const char* f = c.flags; *f != 0; ++f) *at++ = *f;
    if (now.width < 0) *at++ = '-';
    const std::size_t left = static_cast<std::size_t>(spec + sizeof spec - at);
    const auto width = now.width < 0 ? 0U - static_cast<unsigned>(now.width) : static_cast<unsigned>(now.width);
    int n = 0;
    if (width != 0 && now.precision >= 0) n = std::snprintf(at, left, "%u.%d", width, now.precision);
    else if (width != 0) n = std::snprintf(at, left, "%u", width);
    else if (now.precision >= 0) n = std::snprintf(at, left, ".%d", now.precision);
    at += n;
    for (const char* f = c.length; *f != 0; ++f) *at++ = *f;
    *at++ = c.letter;
    *at = 0;
    if (!takes_one(c.letter)) {
        errno = error;
        return print_as(spec, 0);
    }
    const value& v = values[c.from];
    if (c.letter == 'n') {
        store_count(c, const_cast<void*>(v.p));
        return true;
    }
    switch (c.type & ~PA_FLAG_MASK) {
        case PA_STRING:
        case PA_WSTRING: return print_string(spec, now, v.p);
        case PA_POINTER: return print_as(spec, v.p);
        case PA_DOUBLE: return (c.type & PA_FLAG_LONG_DOUBLE) != 0 ? print_as(spec, v.ld) : print_as(spec, v.d);
        default: break;
    }
    const bool is_long_long = c.length[0] == 'L' || c.length[0] == 'q';
    if (is_long_long || (c.type & (PA_FLAG_LONG | PA_FLAG_LONG_LONG)) != 0) return print_as(spec, v.ll);
    return print_as(spec, v.i);
}

bool text_of_format::format(const char* format, va_list arguments) {
    const int error = errno;
    char room[256];
    std::size_t size = 0;
    const char* const f = private_string(t_, format, room, size);
    if (f == nullptr) return false;
    const std::size_t count = ::parse_printf_format(f, 0, nullptr);
    const private_array<int, 32> types{t_, count};
    const private_array<value, 32> values{t_, count};
    if (types.at == nullptr || values.at == nullptr) return false;
    ::parse_printf_format(f, count, types.at);
    for (std::size_t i = 0; i != count; ++i) {
        value& v = values.at[i];
        const int type = types.at[i] & ~PA_FLAG_MASK;
        if ((types.at[i] & PA_FLAG_PTR) != 0 || type == PA_STRING || type == PA_WSTRING || type == PA_POINTER) {
            v.p = va_arg(arguments, const void*);
        } else if (type == PA_DOUBLE || type == PA_FLOAT) {
            if ((types.at[i] & PA_FLAG_LONG_DOUBLE) != 0) v.ld = va_arg(arguments, long double);
            else v.d = va_arg(arguments, double);
        } else {
            // On x86-64 an int argument occupies as much space as a long long. glibc reports int for %Ld and %qd.
            v.ll = va_arg(arguments, long long);
        }
    }
    int next = 0;
    for (const char* at = f; *at != 0;) {
        const char* const percent = std::strchr(at, '%');
        const std::size_t literal = percent != nullptr ? static_cast<std::size_t>(percent - at) : std::strlen(at);
        if (!append(at, literal)) return false;
        if (percent == nullptr) return true;
        conversion c;
        at = percent + 1;
        c.from = position(at);
        for (std::size_t n = 0; *at != 0 && std::strchr("-+ #0'I", *at) != nullptr; ++at) {
            if (n + 1 < sizeof c.flags && std::strchr(c.flags, *at) == nullptr) c.flags[n++] = *at;
        }
        const auto star = [&](int& from, int& given) {
            if (*at != '*') {
                given = number(at);
                return;
            }
            ++at;
            from = position(at);
            if (from < 0) from = next++;
        };
        star(c.width_from, c.width);
        if (*at == '.') {
            ++at;
            if (*at == '-') {  // counts as not given
                ++at;
                number(at);
            } else {
                star(c.precision_from, c.precision);
            }
        }
        if (c.width == INT_MAX || c.precision == INT_MAX) {
            errno = EOVERFLOW;
            return false;
        }
        for (std::size_t n = 0; *at != 0 && std::strchr("hlLqjzZt", *at) != nullptr; ++at) {
            if (n + 1 < sizeof c.length) c.length[n++] = *at;
        }
        c.letter = *at;
        if (c.letter == 0) {
            errno = EINVAL;  // as in glibc
            return false;
        }
        ++at;
        if (takes_one(c.letter)) {
            if (c.from < 0) c.from = next++;
            c.type = types.at[c.from];
        }
        if (!print(c, values.at, error)) return false;
    }
    return true;
}

}  // namespace tutti::libc
