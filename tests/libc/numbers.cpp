// Numbers from strings in transactions, compared with glibc: the value, errno, and the end of the number. The generated
// strings consist of parts of numbers and end before an unreadable page. They have no terminating zero if a character
// that cannot belong to a number ends them. Catches a reader that reads further than glibc.
#include <rapidcheck.h>

#include <cinttypes>
#include <clocale>
#include <cstdlib>
#include <cwchar>
#include <string>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

#include "differential.hpp"

namespace {

using namespace differential;

/// A string whose last character is the last readable byte.
template <class C>
class last_on_page {
public:
    last_on_page() {
        page_ = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
        memory_ =
            static_cast<char*>(mmap(nullptr, 2 * page_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        if (memory_ == MAP_FAILED || mprotect(memory_ + page_, page_, PROT_NONE) != 0) std::abort();
    }
    ~last_on_page() { munmap(memory_, 2 * page_); }
    const C* put(const std::basic_string<C>& text) {
        auto* const at = reinterpret_cast<C*>(memory_ + page_) - text.size();
        std::copy(text.begin(), text.end(), at);
        return at;
    }

private:
    std::size_t page_;
    char* memory_;
};

std::string number() {
    static const std::vector<std::string> parts{"0",
                                                "1",
                                                "7",
                                                "9",
                                                "00",
                                                "12",
                                                "0x",
                                                "0X",
                                                "x",
                                                "z",
                                                "A",
                                                "f",
                                                "-",
                                                "+",
                                                ".",
                                                ",",
                                                "e",
                                                "E",
                                                "p",
                                                "inf",
                                                "INFINITY",
                                                "infi",
                                                "nan",
                                                "nan(",
                                                "NaN(1a_)",
                                                ")",
                                                " ",
                                                "\t",
                                                "\n",
                                                "99999999999999999999",
                                                "18446744073709551615",
                                                "-9223372036854775808",
                                                "1e400",
                                                "4.9e-324",
                                                "0.0000000000000000000001",
                                                "\xe9"};
    std::string s;
    for (const auto& part :
         *rc::gen::container<std::vector<std::string>>(*rc::gen::inRange<std::size_t>(0, 6), rc::gen::elementOf(parts)))
        s += part;
    if (*rc::gen::inRange(0, 10) == 0) s += std::string(700, '3');
    // Adds the end: a zero, or a character that cannot belong to a number.
    s += *rc::gen::elementOf(std::string("\0!#", 3));
    return s;
}

template <class Call, class Library>
void converts(const char* name, Call call, Library library, bool is_pure = false) {
    // The end pointer is stored in the arena, as the number of characters before it.
    check(
        name, arena{}, as_is{}, [&](arena& a) { return call(reinterpret_cast<char**>(a.bytes)); },
        [&](tutti::tx& t, arena& a) { return library(t, reinterpret_cast<char**>(a.bytes)); }, is_pure);
}

#define CHECK_INTEGER(name, C)                                                          \
    converts(                                                                           \
        #name, [&](char** end) { return ::name(s, reinterpret_cast<C**>(end), base); }, \
        [&](tutti::tx& t, char** end) { return tutti::libc::name(t, s, reinterpret_cast<C**>(end), base); })
#define CHECK_REAL(name, C)                                                       \
    converts(                                                                     \
        #name, [&](char** end) { return ::name(s, reinterpret_cast<C**>(end)); }, \
        [&](tutti::tx& t, char** end) { return tutti::libc::name(t, s, reinterpret_cast<C**>(end)); })
#define CHECK_SHORT(name) \
    converts(             \
        #name, [&](char**) { return ::name(s); }, [&](tutti::tx& t, char**) { return tutti::libc::name(t, s); }, true)

void narrow(const char* s, int base) {
    CHECK_INTEGER(strtol, char);
    CHECK_INTEGER(strtoul, char);
    CHECK_INTEGER(strtoll, char);
    CHECK_INTEGER(strtoull, char);
    CHECK_INTEGER(strtoimax, char);
    CHECK_INTEGER(strtoumax, char);
    CHECK_REAL(strtof, char);
    CHECK_REAL(strtod, char);
    CHECK_REAL(strtold, char);
    CHECK_SHORT(atoi);
    CHECK_SHORT(atol);
    CHECK_SHORT(atoll);
    CHECK_SHORT(atof);
}

void wide(const wchar_t* s, int base) {
    CHECK_INTEGER(wcstol, wchar_t);
    CHECK_INTEGER(wcstoul, wchar_t);
    CHECK_INTEGER(wcstoll, wchar_t);
    CHECK_INTEGER(wcstoull, wchar_t);
    CHECK_INTEGER(wcstoimax, wchar_t);
    CHECK_INTEGER(wcstoumax, wchar_t);
    CHECK_REAL(wcstof, wchar_t);
    CHECK_REAL(wcstod, wchar_t);
    CHECK_REAL(wcstold, wchar_t);
}

}  // namespace

int main() {
    last_on_page<char> page;
    last_on_page<wchar_t> wide_page;
    const bool holds = rc::check([&] {
        const std::string s = number();
        std::wstring w;
        for (const unsigned char c : s) w += static_cast<wchar_t>(c);
        const int base = *rc::gen::elementOf(std::vector<int>{0, 2, 8, 10, 10, 16, 16, 36, 1, -1, 37});
        narrow(page.put(s), base);
        wide(wide_page.put(w), base);
    });
    return holds ? 0 : 1;
}
