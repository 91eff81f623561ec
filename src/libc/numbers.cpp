// Converts strings to numbers. glibc works on a private copy of exactly the characters that it would read.
#include <langinfo.h>
#include <wchar.h>

#include <cctype>
#include <cerrno>
#include <cinttypes>
#include <cstdint>
#include <cstdlib>
#include <cwctype>

#include "libc/memory.hpp"
#include "tutti/libc/functions.hpp"

namespace tutti::libc {
namespace {

std::wint_t code(wchar_t c) noexcept { return static_cast<std::wint_t>(c); }

bool is_space(char c) noexcept { return std::isspace(static_cast<unsigned char>(c)) != 0; }
bool is_space(wchar_t c) noexcept { return std::iswspace(code(c)) != 0; }

/// Returns the value of a letter or a digit. For other characters, returns a value that is larger than every base.
int digit(char c) noexcept {
    if (c >= '0' && c <= '9') return c - '0';
    const auto letter = static_cast<unsigned char>(c);
    return std::isalpha(letter) != 0 ? std::toupper(letter) - 'A' + 10 : 99;
}
int digit(wchar_t c) noexcept {
    if (c >= L'0' && c <= L'9') return c - L'0';
    const std::wint_t letter = code(c);
    if (std::iswalpha(letter) == 0) return 99;
    const auto value = static_cast<std::int64_t>(std::towupper(letter)) - 'A' + 10;
    return value >= 0 && value < 99 ? static_cast<int>(value) : 99;
}

/// Implements strtol and similar functions. Digits that exceed the longest number are counted but not copied.
template <class Number, class C>
Number integer(tx& t, const C* s, C** end, int base, Number (*convert)(const C*, C**, int)) {
    constexpr std::size_t max_digits = 70;  // number of digits for 64 bits, with some reserve
    C copy[max_digits + 4];
    C* out = copy;
    if (base < 0 || base == 1 || base > 36) {
        *out = 0;
        return convert(copy, nullptr, base);  // refuses the base
    }
    const int error = errno;
    cursor at{t, s};
    while (is_space(at.peek())) at.skip();
    if (at.peek() == '+' || at.peek() == '-') *out++ = at.next();
    const C* behind = nullptr;  // end of the number found so far
    if ((base == 0 || base == 16) && at.peek() == '0') {
        at.skip();
        behind = at.at();
        *out++ = '0';
        const C x = at.peek();
        if (x == 'x' || x == 'X') {
            *out++ = at.next();
            base = 16;
        } else if (base == 0) {
            base = 8;
        }
    }
    if (base == 0) base = 10;
    std::size_t significant = 0;
    for (int d = digit(at.peek()); d < base; d = digit(at.peek())) {
        const C c = at.next();
        behind = at.at();
        if (significant == 0 && d == 0) {
            // One leading zero stands for all leading zeros.
            if (out == copy || out[-1] != '0') *out++ = c;
        } else if (significant++ < max_digits) {
            *out++ = c;
        }
    }
    *out = 0;
    errno = error;
    const Number value = convert(copy, nullptr, base);
    const int says = errno;
    if (end != nullptr) write(t, end, const_cast<C*>(behind != nullptr ? behind : s));
    errno = says;
    return value;
}

/// Returns the decimal separator of the thread's locale, and its length.
std::size_t point(const char*& text) noexcept {
    text = ::nl_langinfo(RADIXCHAR);
    return std::strlen(text);
}
std::size_t point(const wchar_t*& text) noexcept {
    thread_local wchar_t character;
    character = static_cast<wchar_t>(reinterpret_cast<std::uintptr_t>(::nl_langinfo(_NL_NUMERIC_DECIMAL_POINT_WC)));
    text = &character;
    return 1;
}

/// Determines how many characters belong to a number for strtod and similar functions.
template <class C>
class scan_of_real {
public:
    scan_of_real(tx& t, const C* s) : at_{t, s} {}

    /// Returns how many characters glibc reads, not counting the character at which glibc stops.
    std::size_t size(const C* from) {
        while (is_space(at_.peek())) at_.skip();
        if (at_.peek() == '+' || at_.peek() == '-') at_.skip();
        if (takes("infinity") == 0 && takes("nan") == 3 && at_.peek() == '(') {
            do {
                at_.skip();
            } while (digit(at_.peek()) < 36 || at_.peek() == '_');
            if (at_.peek() == ')') at_.skip();
        } else {
            number();
        }
        return static_cast<std::size_t>(at_.at() - from);
    }

private:
    void number() {
        int base = 10;
        bool some = false;
        if (at_.peek() == '0') {
            at_.skip();
            some = true;
            if (lower() == 'x') {
                at_.skip();
                base = 16;
            }
        }
        some |= digits(base);
        const C* text = nullptr;
        const std::size_t length = point(text);
        std::size_t n = 0;
        for (; n != length && at_.peek() == text[n]; ++n) at_.skip();
        if (n == length) some |= digits(base);
        if (!some || lower() != (base == 16 ? 'p' : 'e')) return;
        at_.skip();
        if (at_.peek() == '+' || at_.peek() == '-') at_.skip();
        digits(10);
    }
    bool digits(int base) {
        bool some = false;
        for (; digit(at_.peek()) < base; at_.skip()) some = true;
        return some;
    }
    /// Skips the characters that match the start of `word`, ignoring case. Returns their number.
    std::size_t takes(const char* word) {
        std::size_t n = 0;
        for (; word[n] != 0 && lower() == word[n]; ++n) at_.skip();
        return n;
    }
    int lower() {
        const C c = at_.peek();
        return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : static_cast<int>(c);
    }

    cursor<C> at_;
};

template <class Number, class C>
Number real(tx& t, const C* s, C** end, Number (*convert)(const C*, C**)) {
    const int error = errno;
    const std::size_t size = scan_of_real<C>{t, s}.size(s);
    const private_array<C> copy{t, size + 1};
    Number value{};
    const C* behind = s;
    int says = ENOMEM;
    if (copy.at != nullptr) {
        copy_in(t, copy.at, s, size * sizeof(C));
        copy.at[size] = 0;
        C* stopped = nullptr;
        errno = error;
        value = convert(copy.at, &stopped);
        says = errno;
        behind = s + (stopped - copy.at);
    }
    if (end != nullptr) write(t, end, const_cast<C*>(behind));
    errno = says;
    return value;
}

}  // namespace

#define TUTTI_INTEGER(type, name, character)                          \
    type name(tx& t, const character* s, character** end, int base) { \
        return integer<type, character>(t, s, end, base, ::name);     \
    }
TUTTI_INTEGER(long, strtol, char)
TUTTI_INTEGER(unsigned long, strtoul, char)
TUTTI_INTEGER(long long, strtoll, char)
TUTTI_INTEGER(unsigned long long, strtoull, char)
TUTTI_INTEGER(std::intmax_t, strtoimax, char)
TUTTI_INTEGER(std::uintmax_t, strtoumax, char)
TUTTI_INTEGER(long, wcstol, wchar_t)
TUTTI_INTEGER(unsigned long, wcstoul, wchar_t)
TUTTI_INTEGER(long long, wcstoll, wchar_t)
TUTTI_INTEGER(unsigned long long, wcstoull, wchar_t)
TUTTI_INTEGER(std::intmax_t, wcstoimax, wchar_t)
TUTTI_INTEGER(std::uintmax_t, wcstoumax, wchar_t)
#undef TUTTI_INTEGER

#define TUTTI_REAL(type, name, character) \
    type name(tx& t, const character* s, character** end) { return real<type, character>(t, s, end, ::name); }
TUTTI_REAL(float, strtof, char)
TUTTI_REAL(double, strtod, char)
TUTTI_REAL(long double, strtold, char)
TUTTI_REAL(float, wcstof, wchar_t)
TUTTI_REAL(double, wcstod, wchar_t)
TUTTI_REAL(long double, wcstold, wchar_t)
#undef TUTTI_REAL

int atoi(tx& t, const char* s) { return static_cast<int>(libc::strtol(t, s, nullptr, 10)); }
long atol(tx& t, const char* s) { return libc::strtol(t, s, nullptr, 10); }
long long atoll(tx& t, const char* s) { return libc::strtoll(t, s, nullptr, 10); }
double atof(tx& t, const char* s) { return libc::strtod(t, s, nullptr); }

}  // namespace tutti::libc
