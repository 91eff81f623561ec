// Converts between text and numbers. These functions use only their arguments, so glibc works on private copies.
#include <arpa/inet.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>

#include "libc/memory.hpp"
#include "libc/text.hpp"
#include "tutti/libc/functions.hpp"

namespace tutti::libc {
namespace {

constexpr std::size_t max_digits = 512;  // of a decimal number in glibc, of which 17 or 21 are significant

/// Implements ecvt_r and the like: `convert(point, sign, text, size)`.
template <class Convert>
int digits_of(tx& t, int* point, int* sign, char* to, std::size_t size, Convert convert) {
    const std::size_t room = std::min(size, std::size_t{INT_MAX});
    const private_array<char> text{t, room};
    if (text.at == nullptr) return -1;
    int p = 0;
    int s = 0;
    if (room != 0) text.at[0] = 0;
    const int result = convert(&p, &s, text.at, room);
    if (result != 0) return result;
    write(t, point, p);
    write(t, sign, s);
    copy_out(t, to, text.at, std::strlen(text.at) + 1);
    return 0;
}

/// Implements strfromd and the like.
template <class Number>
int number_as_text(tx& t, char* to, std::size_t size, const char* format, Number x,
                   int (*convert)(char*, std::size_t, const char*, Number) noexcept) {
    char room[64];
    std::size_t n = 0;
    const char* const f = private_string(t, format, room, n);
    if (f == nullptr) return -1;
    const int needed = convert(nullptr, 0, f, x);
    if (needed < 0 || size == 0) return needed;
    const std::size_t fits = std::min(size, static_cast<std::size_t>(needed) + 1);
    const private_array<char> text{t, fits};
    if (text.at == nullptr) return -1;
    convert(text.at, fits, f, x);
    copy_out(t, to, text.at, fits);
    return needed;
}

/// Returns `convert(private text)`, or `none` if there is no memory for the copy.
template <class Result, class Convert>
Result of_text(tx& t, const char* text, Result none, Convert convert) {
    char room[256];
    std::size_t n = 0;
    const char* const s = private_string(t, text, room, n);
    return s != nullptr ? convert(s) : none;
}

}  // namespace

#define TUTTI_DIGITS(type, name)                                                                       \
    int name(tx& t, type x, int digits, int* point, int* sign, char* to, std::size_t size) {           \
        return digits_of(t, point, sign, to, size, [=](int* p, int* s, char* text, std::size_t room) { \
            return ::name(x, digits, p, s, text, room);                                                \
        });                                                                                            \
    }
TUTTI_DIGITS(double, ecvt_r)
TUTTI_DIGITS(double, fcvt_r)
TUTTI_DIGITS(long double, qecvt_r)
TUTTI_DIGITS(long double, qfcvt_r)
#undef TUTTI_DIGITS

#define TUTTI_GENERAL(type, name)                     \
    char* name(tx& t, type x, int digits, char* to) { \
        char text[max_digits];                        \
        ::name(x, digits, text);                      \
        copy_out(t, to, text, std::strlen(text) + 1); \
        return to;                                    \
    }
TUTTI_GENERAL(double, gcvt)
TUTTI_GENERAL(long double, qgcvt)
#undef TUTTI_GENERAL

int strfromd(tx& t, char* to, std::size_t size, const char* format, double x) {
    return number_as_text(t, to, size, format, x, ::strfromd);
}
int strfromf(tx& t, char* to, std::size_t size, const char* format, float x) {
    return number_as_text(t, to, size, format, x, ::strfromf);
}
int strfroml(tx& t, char* to, std::size_t size, const char* format, long double x) {
    return number_as_text(t, to, size, format, x, ::strfroml);
}

in_addr_t inet_addr(tx& t, const char* text) { return of_text(t, text, in_addr_t{INADDR_NONE}, ::inet_addr); }
int inet_aton(tx& t, const char* text, in_addr* to) {
    return of_text(t, text, 0, [&](const char* s) {
        in_addr address{};
        const int good = ::inet_aton(s, &address);
        if (good != 0 && to != nullptr) write(t, to, address);
        return good;
    });
}
int inet_pton(tx& t, int family, const char* text, void* to) {
    return of_text(t, text, -1, [&](const char* s) {
        in6_addr address{};
        const int good = ::inet_pton(family, s, &address);
        if (good == 1) copy_out(t, to, &address, family == AF_INET ? sizeof(in_addr) : sizeof address);
        return good;
    });
}
const char* inet_ntop(tx& t, int family, const void* address, char* to, unsigned size) {
    in6_addr copy{};
    char text[INET6_ADDRSTRLEN];
    if (family == AF_INET || family == AF_INET6)
        copy_in(t, &copy, address, family == AF_INET ? sizeof(in_addr) : sizeof copy);
    if (::inet_ntop(family, &copy, text, std::min(size, unsigned{sizeof text})) == nullptr) return nullptr;
    copy_out(t, to, text, std::strlen(text) + 1);
    return to;
}

int fnmatch(tx& t, const char* pattern, const char* text, int flags) {
    constexpr int no_memory = -1;  // any number except 0 and FNM_NOMATCH means an error
    return of_text(t, pattern, no_memory, [&](const char* p) {
        return of_text(t, text, no_memory, [&](const char* s) { return ::fnmatch(p, s, flags); });
    });
}

void swab(tx& t, const void* from, void* to, ssize_t size) {
    if (size < 2) return;
    const std::size_t whole = static_cast<std::size_t>(size) & ~std::size_t{1};
    for (std::size_t n = 0; n != whole; n += 2) {
        char pair[2];
        copy_in(t, pair, static_cast<const char*>(from) + n, 2);
        std::swap(pair[0], pair[1]);
        copy_out(t, static_cast<char*>(to) + n, pair, 2);
    }
}
void* memfrob(tx& t, void* memory, std::size_t size) {
    for (std::size_t n = 0; n != size; ++n) {
        char* const at = static_cast<char*>(memory) + n;
        write(t, at, static_cast<char>(read(t, at) ^ 42));
    }
    return memory;
}

}  // namespace tutti::libc
