// Implements the string functions of <string.h> and <strings.h>.
#include "libc/strings.hpp"

#include <langinfo.h>

#include <cstdint>
#include <cstring>

#include "libc/text.hpp"

namespace tutti::libc {

bool collates_by_value() noexcept {
    return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(::nl_langinfo(_NL_COLLATE_NRULES))) == 0;
}

std::size_t strlen(tx& t, const char* s) { return length(t, s); }
std::size_t strnlen(tx& t, const char* s, std::size_t limit) { return length(t, s, limit); }

int strcmp(tx& t, const char* a, const char* b) { return compare(t, a, b); }
int strncmp(tx& t, const char* a, const char* b, std::size_t limit) { return compare(t, a, b, limit); }
int strcasecmp(tx& t, const char* a, const char* b) { return compare(t, a, b, unlimited, ignoring_case{}); }
int strncasecmp(tx& t, const char* a, const char* b, std::size_t limit) {
    return compare(t, a, b, limit, ignoring_case{});
}

int strcoll(tx& t, const char* a, const char* b) {
    if (collates_by_value()) return libc::strcmp(t, a, b);
    char room_a[512];
    char room_b[512];
    std::size_t size = 0;
    const char* const left = private_string(t, a, room_a, size);
    const char* const right = private_string(t, b, room_b, size);
    return left != nullptr && right != nullptr ? std::strcoll(left, right) : libc::strcmp(t, a, b);
}

std::size_t strxfrm(tx& t, char* to, const char* from, std::size_t size) {
    return transformed(t, to, from, size, std::strxfrm);
}

char* strcpy(tx& t, char* to, const char* from) {
    copy_string(t, to, from);
    return to;
}
char* stpcpy(tx& t, char* to, const char* from) { return copy_string(t, to, from); }
char* strncpy(tx& t, char* to, const char* from, std::size_t size) {
    copy_padded(t, to, from, size);
    return to;
}
char* stpncpy(tx& t, char* to, const char* from, std::size_t size) { return copy_padded(t, to, from, size); }
char* strcat(tx& t, char* to, const char* from) { return strncat(t, to, from, unlimited); }
char* strncat(tx& t, char* to, const char* from, std::size_t size) {
    copy_string(t, to + length(t, to), from, size);
    return to;
}
char* strdup(tx& t, const char* s) { return duplicate(t, s); }
char* strndup(tx& t, const char* s, std::size_t limit) { return duplicate(t, s, limit); }

char* strchr(tx& t, const char* s, int c) { return find(t, s, static_cast<char>(c)); }
char* index(tx& t, const char* s, int c) { return find(t, s, static_cast<char>(c)); }
char* strchrnul(tx& t, const char* s, int c) {
    char* end = nullptr;
    find(t, s, static_cast<char>(c), &end);
    return end;
}
char* strrchr(tx& t, const char* s, int c) { return find_last(t, s, static_cast<char>(c)); }
char* rindex(tx& t, const char* s, int c) { return find_last(t, s, static_cast<char>(c)); }

char* strstr(tx& t, const char* in, const char* needle) {
    return search(t, in, unlimited, true, needle, length(t, needle));
}
char* strcasestr(tx& t, const char* in, const char* needle) {
    return search(t, in, unlimited, true, needle, length(t, needle), ignoring_case{});
}

char* strpbrk(tx& t, const char* s, const char* set) {
    char* const at = first_of(t, s, set);
    return read(t, at) != 0 ? at : nullptr;
}
std::size_t strspn(tx& t, const char* s, const char* set) {
    return static_cast<std::size_t>(first_of(t, s, set, false) - s);
}
std::size_t strcspn(tx& t, const char* s, const char* set) { return static_cast<std::size_t>(first_of(t, s, set) - s); }

char* strtok(tx& t, char* s, const char* delimiters) {
    // This call is left to glibc's strtok, because glibc hides the position at which the previous call has stopped.
    become_irrevocable(t, "where strtok stands in its string is hidden in the C library", "use strtok_r");
    return std::strtok(s, delimiters);
}

char* strtok_r(tx& t, char* s, const char* delimiters, char** rest) {
    char* const token = first_of(t, s != nullptr ? s : read(t, rest), delimiters, false);
    if (read(t, token) == 0) {
        write(t, rest, token);
        return nullptr;
    }
    char* behind = nullptr;
    cut_token(t, token, delimiters, behind);
    write(t, rest, behind != nullptr ? behind : token + length(t, token));
    return token;
}

char* strsep(tx& t, char** rest, const char* delimiters) {
    char* const token = read(t, rest);
    if (token == nullptr) return nullptr;
    char* behind = nullptr;
    cut_token(t, token, delimiters, behind);
    write(t, rest, behind);
    return token;
}

char* strerror_r(tx& t, int error, char* to, std::size_t size) {
    // glibc's text would be the same in any larger buffer.
    char text[128];
    char* const says = ::strerror_r(error, text, size < sizeof text ? size : sizeof text);
    if (says != text) return says;
    if (size != 0) copy_out(t, to, text, std::strlen(text) + 1);
    return to;
}

int __xpg_strerror_r(tx& t, int error, char* to, std::size_t size) {
    char text[1024];  // longer than any translation in glibc
    const int status = ::__xpg_strerror_r(error, text, size < sizeof text ? size : sizeof text);
    if (size != 0) copy_out(t, to, text, std::strlen(text) + 1);
    return status;
}

}  // namespace tutti::libc
