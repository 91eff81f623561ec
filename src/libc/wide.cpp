// Implements the wide-character string functions of <wchar.h>.
#include <wchar.h>

#include <cerrno>

#include "libc/strings.hpp"
#include "libc/text.hpp"

namespace tutti::libc {

std::size_t wcslen(tx& t, const wchar_t* s) { return length(t, s); }
std::size_t wcsnlen(tx& t, const wchar_t* s, std::size_t limit) { return length(t, s, limit); }

int wcscmp(tx& t, const wchar_t* a, const wchar_t* b) { return compare(t, a, b); }
int wcsncmp(tx& t, const wchar_t* a, const wchar_t* b, std::size_t limit) { return compare(t, a, b, limit); }
int wcscasecmp(tx& t, const wchar_t* a, const wchar_t* b) { return compare(t, a, b, unlimited, ignoring_case{}); }
int wcsncasecmp(tx& t, const wchar_t* a, const wchar_t* b, std::size_t limit) {
    return compare(t, a, b, limit, ignoring_case{});
}

int wcscoll(tx& t, const wchar_t* a, const wchar_t* b) {
    if (collates_by_value()) return libc::wcscmp(t, a, b);
    wchar_t room_a[128];
    wchar_t room_b[128];
    std::size_t size = 0;
    const wchar_t* const left = private_string(t, a, room_a, size);
    const wchar_t* const right = private_string(t, b, room_b, size);
    return left != nullptr && right != nullptr ? ::wcscoll(left, right) : libc::wcscmp(t, a, b);
}

std::size_t wcsxfrm(tx& t, wchar_t* to, const wchar_t* from, std::size_t size) {
    return transformed(t, to, from, size, ::wcsxfrm);
}

wchar_t* wcscpy(tx& t, wchar_t* to, const wchar_t* from) {
    copy_string(t, to, from);
    return to;
}
wchar_t* wcpcpy(tx& t, wchar_t* to, const wchar_t* from) { return copy_string(t, to, from); }
wchar_t* wcsncpy(tx& t, wchar_t* to, const wchar_t* from, std::size_t size) {
    copy_padded(t, to, from, size);
    return to;
}
wchar_t* wcpncpy(tx& t, wchar_t* to, const wchar_t* from, std::size_t size) { return copy_padded(t, to, from, size); }
wchar_t* wcscat(tx& t, wchar_t* to, const wchar_t* from) { return libc::wcsncat(t, to, from, unlimited); }
wchar_t* wcsncat(tx& t, wchar_t* to, const wchar_t* from, std::size_t size) {
    copy_string(t, to + length(t, to), from, size);
    return to;
}
wchar_t* wcsdup(tx& t, const wchar_t* s) { return duplicate(t, s); }

wchar_t* wcschr(tx& t, const wchar_t* s, wchar_t c) { return find(t, s, c); }
wchar_t* wcsrchr(tx& t, const wchar_t* s, wchar_t c) { return find_last(t, s, c); }
wchar_t* wcschrnul(tx& t, const wchar_t* s, wchar_t c) {
    wchar_t* end = nullptr;
    find(t, s, c, &end);
    return end;
}
wchar_t* wcsstr(tx& t, const wchar_t* in, const wchar_t* needle) {
    return search(t, in, unlimited, true, needle, length(t, needle));
}
wchar_t* wcspbrk(tx& t, const wchar_t* s, const wchar_t* set) {
    wchar_t* const at = first_of(t, s, set);
    return read(t, at) != 0 ? at : nullptr;
}
std::size_t wcsspn(tx& t, const wchar_t* s, const wchar_t* set) {
    return static_cast<std::size_t>(first_of(t, s, set, false) - s);
}
std::size_t wcscspn(tx& t, const wchar_t* s, const wchar_t* set) {
    return static_cast<std::size_t>(first_of(t, s, set) - s);
}

wchar_t* wcstok(tx& t, wchar_t* s, const wchar_t* delimiters, wchar_t** rest) {
    if (s == nullptr) s = read(t, rest);
    if (s == nullptr) {
        errno = EINVAL;  // as in glibc
        return nullptr;
    }
    wchar_t* const token = first_of(t, s, delimiters, false);
    wchar_t* behind = nullptr;
    const bool is_one = read(t, token) != 0;
    if (is_one) cut_token(t, token, delimiters, behind);
    write(t, rest, behind);
    return is_one ? token : nullptr;
}

wchar_t* wmemcpy(tx& t, wchar_t* to, const wchar_t* from, std::size_t count) {
    libc::memcpy(t, to, from, count * sizeof *to);
    return to;
}
wchar_t* wmempcpy(tx& t, wchar_t* to, const wchar_t* from, std::size_t count) {
    return libc::wmemcpy(t, to, from, count) + count;
}
wchar_t* wmemmove(tx& t, wchar_t* to, const wchar_t* from, std::size_t count) {
    libc::memmove(t, to, from, count * sizeof *to);
    return to;
}
wchar_t* wmemset(tx& t, wchar_t* to, wchar_t c, std::size_t count) {
    fill(t, to, c, count);
    return to;
}
int wmemcmp(tx& t, const wchar_t* a, const wchar_t* b, std::size_t count) { return compare_memory(t, a, b, count); }
wchar_t* wmemchr(tx& t, const wchar_t* in, wchar_t c, std::size_t count) { return find_in_memory(t, in, c, count); }

}  // namespace tutti::libc
