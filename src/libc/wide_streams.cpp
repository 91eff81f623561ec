// Streams of wide characters. Calls on them make the transaction irrevocable, because glibc converts the characters in
// its own buffers. This file also has swprintf, which uses no stream.
#include <wchar.h>

#include <algorithm>
#include <cerrno>
#include <climits>

#include "libc/file.hpp"
#include "libc/memory.hpp"
#include "libc/wide_formatting.hpp"
#include "tutti/libc/functions.hpp"

namespace tutti::libc {
namespace {

/// Runs `call()`, which calls a function of glibc with private arguments.
template <class Call>
auto finally(tx& t, FILE* f, Call call) {
    file of{t, f};
    if (of.is_owned())
        of.before_irreversible_call("a call on a wide stream", "make the text by swprintf, and print it as bytes");
    return call();
}

}  // namespace

wint_t fgetwc(tx& t, FILE* f) {
    return finally(t, f, [f] { return ::fgetwc(f); });
}
wint_t fputwc(tx& t, wchar_t c, FILE* f) {
    return finally(t, f, [=] { return ::fputwc(c, f); });
}
wint_t ungetwc(tx& t, wint_t c, FILE* f) {
    return finally(t, f, [=] { return ::ungetwc(c, f); });
}
int fwide(tx& t, FILE* f, int mode) {
    if (mode == 0) {
        const file of{t, f};
        return ::fwide(f, 0);
    }
    return finally(t, f, [=] { return ::fwide(f, mode); });
}
int fputws(tx& t, const wchar_t* s, FILE* f) {
    wchar_t room[128];
    std::size_t size = 0;
    const wchar_t* const text = private_string(t, s, room, size);
    return text != nullptr ? finally(t, f, [=] { return ::fputws(text, f); }) : EOF;
}
wchar_t* fgetws(tx& t, wchar_t* to, int size, FILE* f) {
    if (size <= 0) return nullptr;
    const private_array<wchar_t> line{t, static_cast<std::size_t>(size)};
    if (line.at == nullptr) return nullptr;
    const auto* const got = finally(t, f, [&] { return ::fgetws(line.at, size, f); });
    if (got == nullptr) return nullptr;
    copy_out(t, to, line.at, (::wcslen(line.at) + 1) * sizeof *to);
    return to;
}

int vfwprintf(tx& t, FILE* f, const wchar_t* format, va_list arguments) {
    wide_format made{t};
    if (!made.copy(format, arguments)) return -1;
    const int result = finally(t, f, [&] { return ::vfwprintf(f, made.format(), made.arguments()); });
    made.store_counts();
    return result;
}
int vwprintf(tx& t, const wchar_t* format, va_list arguments) { return libc::vfwprintf(t, stdout, format, arguments); }

int vswprintf(tx& t, wchar_t* to, std::size_t size, const wchar_t* format, va_list arguments) {
    const int error = errno;
    wide_format made{t};
    if (!made.copy(format, arguments)) return -1;
    // The buffer grows until the text fits, because glibc does not report the required size.
    for (std::size_t room = std::min<std::size_t>(size, 128);; room = std::min(size, 8 * room)) {
        const private_array<wchar_t> text{t, room};
        if (text.at == nullptr) return -1;
        errno = error;
        const int n = ::vswprintf(text.at, room, made.format(), made.arguments());
        if (n < 0 && room < size && room < INT_MAX) continue;
        const int says = errno;
        if (n >= 0) copy_out(t, to, text.at, (static_cast<std::size_t>(n) + 1) * sizeof *to);
        made.store_counts();
        errno = says;
        return n;
    }
}

// The functions above under other names, and their variants that do not lock the stream.
wint_t getwc(tx& t, FILE* f) { return libc::fgetwc(t, f); }
wint_t getwchar(tx& t) { return libc::fgetwc(t, stdin); }
wint_t putwc(tx& t, wchar_t c, FILE* f) { return libc::fputwc(t, c, f); }
wint_t putwchar(tx& t, wchar_t c) { return libc::fputwc(t, c, stdout); }
wint_t fgetwc_unlocked(tx& t, FILE* f) { return libc::fgetwc(t, f); }
wint_t getwc_unlocked(tx& t, FILE* f) { return libc::fgetwc(t, f); }
wint_t getwchar_unlocked(tx& t) { return libc::fgetwc(t, stdin); }
wint_t fputwc_unlocked(tx& t, wchar_t c, FILE* f) { return libc::fputwc(t, c, f); }
wint_t putwc_unlocked(tx& t, wchar_t c, FILE* f) { return libc::fputwc(t, c, f); }
wint_t putwchar_unlocked(tx& t, wchar_t c) { return libc::fputwc(t, c, stdout); }
wchar_t* fgetws_unlocked(tx& t, wchar_t* to, int size, FILE* f) { return libc::fgetws(t, to, size, f); }
int fputws_unlocked(tx& t, const wchar_t* s, FILE* f) { return libc::fputws(t, s, f); }

}  // namespace tutti::libc
