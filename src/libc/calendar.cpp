// Converts calendar times. glibc works on private copies of the program's structures.
//
// glibc reads TZ from the environment, so a conversion of local time acquires the environment's lock in shared mode.
// glibc derives the zone's data from TZ, and reads TZ again before each use of these data. If a roll-back restores TZ,
// it also makes glibc read TZ again (environment.cpp), so tzset needs no undo action.
#include <time.h>
#include <wchar.h>

#include <cerrno>
#include <cstring>

#include "libc/environment.hpp"
#include "libc/memory.hpp"
#include "tutti/libc/functions.hpp"

namespace tutti::libc {
namespace {

// The addresses of the static results, determined before the program uses the results. Blocks write the results through
// barriers.
const time_t epoch = 0;
tm* const static_time = ::gmtime(&epoch);
char* const static_text = ::asctime(static_time);
constexpr std::size_t max_text = 26;  // of asctime_r

template <class Convert>
tm* converted(tx& t, const time_t* at, tm* to, Convert convert) {
    const time_t seconds = read(t, at);
    tm fields{};
    if (convert(&seconds, &fields) == nullptr) return nullptr;
    write(t, to, fields);
    return to;
}

/// Implements mktime and timegm. Both functions also normalize the fields.
template <class Convert>
time_t seconds_of(tx& t, tm* at, Convert convert) {
    tm fields = read(t, at);
    const time_t seconds = convert(&fields);
    const int error = errno;
    write(t, at, fields);
    errno = error;
    return seconds;
}

/// Returns true if a conversion may print the name of the zone. In all other cases the name is not read, because its
/// pointer may be invalid.
bool prints_zone(const char* format) noexcept { return std::strchr(format, 'Z') != nullptr; }
bool prints_zone(const wchar_t* format) noexcept { return ::wcschr(format, L'Z') != nullptr; }

/// Runs `print(to, size, format, fields)`. If the result does not fit, does not change the program's memory.
template <class C, class Print>
std::size_t printed(tx& t, C* to, std::size_t size, const C* format, const tm* at, Print print) {
    C format_room[256 / sizeof(C)];
    char zone_room[64];
    std::size_t n = 0;
    const C* const f = private_string(t, format, format_room, n);
    if (f == nullptr) return 0;
    tm fields = read(t, at);
    if (prints_zone(f) && fields.tm_zone != nullptr) {
        fields.tm_zone = private_string(t, fields.tm_zone, zone_room, n);
        if (fields.tm_zone == nullptr) return 0;
    }
    lock_environment_shared(t);
    // If the buffer is null, glibc only counts the characters. A result of 0 has two meanings: the text is empty and
    // fits into one character, or the text does not fit.
    const std::size_t count = print(nullptr, size, f, &fields);
    C nothing = 1;
    if (count == 0 && size != 0) print(&nothing, 1, f, &fields);
    if (count == 0 && nothing != 0) return 0;
    const private_array<C> text{t, count + 1};
    if (text.at == nullptr) return 0;
    print(text.at, count + 1, f, &fields);
    copy_out(t, to, text.at, (count + 1) * sizeof(C));
    return count;
}

char* text_of(tx& t, const tm& fields, char* to) {
    char text[max_text];
    if (::asctime_r(&fields, text) == nullptr) return nullptr;
    copy_out(t, to, text, std::strlen(text) + 1);
    return to;
}

char* static_text_of(tx& t, const tm& fields) {
    char* const text = text_of(t, fields, static_text);
    if (text != nullptr || errno != EOVERFLOW) return text;
    become_irrevocable(t, "a year of more than four digits as text", "use strftime");
    return ::asctime(&fields);
}

}  // namespace

tm* gmtime_r(tx& t, const time_t* at, tm* to) { return converted(t, at, to, ::gmtime_r); }
tm* gmtime(tx& t, const time_t* at) { return libc::gmtime_r(t, at, static_time); }
tm* localtime_r(tx& t, const time_t* at, tm* to) {
    lock_environment_shared(t);
    return converted(t, at, to, ::localtime_r);
}
tm* localtime(tx& t, const time_t* at) {
    lock_environment_shared(t);
    ::tzset();  // localtime always reads TZ; localtime_r may skip this
    return converted(t, at, static_time, ::localtime_r);
}
void tzset(tx& t) {
    lock_environment_shared(t);
    ::tzset();
}

time_t mktime(tx& t, tm* at) {
    lock_environment_shared(t);
    return seconds_of(t, at, ::mktime);
}
time_t timegm(tx& t, tm* at) { return seconds_of(t, at, ::timegm); }

std::size_t strftime(tx& t, char* to, std::size_t size, const char* format, const tm* at) {
    return printed(t, to, size, format, at, ::strftime);
}
std::size_t strftime_l(tx& t, char* to, std::size_t size, const char* format, const tm* at, locale_t locale) {
    return printed(t, to, size, format, at, [locale](char* text, std::size_t room, const char* f, const tm* fields) {
        return ::strftime_l(text, room, f, fields, locale);
    });
}
std::size_t wcsftime(tx& t, wchar_t* to, std::size_t size, const wchar_t* format, const tm* at) {
    return printed(t, to, size, format, at, ::wcsftime);
}
std::size_t wcsftime_l(tx& t, wchar_t* to, std::size_t size, const wchar_t* format, const tm* at, locale_t locale) {
    return printed(t, to, size, format, at,
                   [locale](wchar_t* text, std::size_t room, const wchar_t* f, const tm* fields) {
                       return ::wcsftime_l(text, room, f, fields, locale);
                   });
}

char* asctime_r(tx& t, const tm* at, char* to) { return text_of(t, read(t, at), to); }
char* asctime(tx& t, const tm* at) { return static_text_of(t, read(t, at)); }
char* ctime_r(tx& t, const time_t* at, char* to) {
    lock_environment_shared(t);
    const time_t seconds = read(t, at);
    tm fields{};
    return ::localtime_r(&seconds, &fields) != nullptr ? text_of(t, fields, to) : nullptr;
}
char* ctime(tx& t, const time_t* at) {
    tm* const fields = libc::localtime(t, at);
    return fields != nullptr ? static_text_of(t, read(t, fields)) : nullptr;
}

char* strptime(tx& t, const char* text, const char* format, tm* to) {
    char text_room[256];
    char format_room[128];
    std::size_t n = 0;
    const char* const s = private_string(t, text, text_room, n);
    const char* const f = s != nullptr ? private_string(t, format, format_room, n) : nullptr;
    if (f == nullptr) return nullptr;
    lock_environment_shared(t);
    tm fields = read(t, to);
    const char* const end = ::strptime(s, f, &fields);
    write(t, to, fields);
    return end != nullptr ? const_cast<char*>(text + (end - s)) : nullptr;
}

}  // namespace tutti::libc
