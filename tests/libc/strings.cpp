// Strings and bytes in transactions, compared with glibc, over generated memory. Catches a scan that stops too late or
// too early, bytes compared as signed, a copy without its zero, and writes that bypass the barriers.
#include <rapidcheck.h>

#include <strings.h>
#include <cctype>
#include <cstdlib>
#include <string>

#include "differential.hpp"

namespace {

using namespace differential;

/// Zeros end the strings; the end of the arena ends the last one at the latest.
arena memory() {
    static const char alphabet[] = "aaabbAB,; \xe9\x80";
    arena a{};
    std::memset(a.bytes, 'z', sizeof a.bytes);
    const auto text = *rc::gen::container<std::string>(256, rc::gen::elementOf(std::string(alphabet, sizeof alphabet)));
    std::memcpy(a.bytes, text.data(), 256);
    a.bytes[255] = 0;
    return a;
}

constexpr std::size_t room = 512;  // output goes after this offset
constexpr std::size_t rest = 1000;

void compares(const arena& w, std::size_t x, std::size_t y, std::size_t n) {
    CHECK_CALL(w, sign{}, memcmp, (a.bytes + x, a.bytes + y, n));
    CHECK_CALL(w, sign{}, bcmp, (a.bytes + x, a.bytes + x, n));
    CHECK_CALL(w, sign{}, strcmp, (a.bytes + x, a.bytes + y));
    CHECK_CALL(w, sign{}, strncmp, (a.bytes + x, a.bytes + y, n));
    CHECK_CALL(w, sign{}, strcasecmp, (a.bytes + x, a.bytes + y));
    CHECK_CALL(w, sign{}, strncasecmp, (a.bytes + x, a.bytes + y, n));
    CHECK_CALL(w, sign{}, strcoll, (a.bytes + x, a.bytes + y));
    CHECK_CALL(w, as_is{}, strlen, (a.bytes + x));
    CHECK_CALL(w, as_is{}, strnlen, (a.bytes + x, n));
}

void searches(const arena& w, std::size_t x, std::size_t y, std::size_t n, int c) {
    CHECK_CALL(w, as_is{}, memchr, (a.bytes + x, c, n));
    CHECK_CALL(w, as_is{}, rawmemchr, (a.bytes + x, w.bytes[255]));
    CHECK_CALL(w, as_is{}, memrchr, (a.bytes + x, c, n));
    CHECK_CALL(w, as_is{}, memmem, (a.bytes + x, n, a.bytes + y, n % 5));
    CHECK_CALL(w, as_is{}, strchr, (a.bytes + x, c));
    CHECK_CALL(w, as_is{}, strrchr, (a.bytes + x, c));
    CHECK_CALL(w, as_is{}, strchrnul, (a.bytes + x, c));
    CHECK_CALL(w, as_is{}, index, (a.bytes + x, c));
    CHECK_CALL(w, as_is{}, rindex, (a.bytes + x, c));
    CHECK_CALL(w, as_is{}, strstr, (a.bytes + x, a.bytes + y));
    CHECK_CALL(w, as_is{}, strcasestr, (a.bytes + x, a.bytes + y));
    CHECK_CALL(w, as_is{}, strpbrk, (a.bytes + x, a.bytes + y));
    CHECK_CALL(w, as_is{}, strspn, (a.bytes + x, a.bytes + y));
    CHECK_CALL(w, as_is{}, strcspn, (a.bytes + x, a.bytes + y));
}

void copies(const arena& w, std::size_t x, std::size_t y, std::size_t n, int c) {
    CHECK_CALL(w, as_is{}, memcpy, (a.bytes + room, a.bytes + x, n));
    CHECK_CALL(w, as_is{}, memmove, (a.bytes + y, a.bytes + x, n));
    CHECK_CALL(w, as_is{}, memmove, (a.bytes + x, a.bytes + x + 3, 300 + n));
    CHECK_CALL(w, as_is{}, memmove, (a.bytes + x + 3, a.bytes + x, 300 + n));
    CHECK_CALL(w, as_is{}, memset, (a.bytes + x, c, 3 * n));
    CHECK_CALL(w, as_is{}, mempcpy, (a.bytes + room, a.bytes + x, n));
    CHECK_CALL(w, as_is{}, memccpy, (a.bytes + room, a.bytes + x, c, n));
    CHECK_CALL(w, as_is{}, strcpy, (a.bytes + room, a.bytes + x));
    CHECK_CALL(w, as_is{}, stpcpy, (a.bytes + room, a.bytes + x));
    CHECK_CALL(w, as_is{}, strncpy, (a.bytes + room, a.bytes + x, 3 * n));
    CHECK_CALL(w, as_is{}, stpncpy, (a.bytes + room, a.bytes + x, 3 * n));
    arena ends = w;
    ends.bytes[room + y] = 0;
    CHECK_CALL(ends, as_is{}, strcat, (a.bytes + room, a.bytes + x));
    CHECK_CALL(ends, as_is{}, strncat, (a.bytes + room, a.bytes + x, n));
    if (writes_the_result_alone<char>(w, std::strxfrm, w.bytes + room, w.bytes + x, 300)) {
        CHECK_CALL(w, as_is{}, strxfrm, (a.bytes + room, a.bytes + x, 300));
    }
}

char*& place(arena& a) { return reinterpret_cast<char*&>(a.bytes[rest]); }
/// Converts addresses, which differ between arenas, into offsets.
struct with_place {
    long operator()(arena& a, char* token) const {
        if (place(a) != nullptr) place(a) = reinterpret_cast<char*>(place(a) - a.bytes);
        return token == nullptr ? -1 : token - a.bytes;
    }
};

void tokens(const arena& w, std::size_t x) {
    constexpr const char* set = ",; ";
    const auto two = [](char* first, char* second) { return second != nullptr ? second : first; };
    check(
        "strtok_r", w, with_place{},
        [&](arena& a) {
            char* const first = ::strtok_r(a.bytes + x, set, &place(a));
            return two(first, ::strtok_r(nullptr, set, &place(a)));
        },
        [&](tutti::tx& t, arena& a) {
            char* const first = tutti::libc::strtok_r(t, a.bytes + x, set, &place(a));
            return two(first, tutti::libc::strtok_r(t, nullptr, set, &place(a)));
        });
    check(
        "strsep", w, with_place{},
        [&](arena& a) {
            place(a) = a.bytes + x;
            char* const first = ::strsep(&place(a), set);
            return two(first, ::strsep(&place(a), set));
        },
        [&](tutti::tx& t, arena& a) {
            tutti::store(t, &place(a), a.bytes + x);
            char* const first = tutti::libc::strsep(t, &place(a), set);
            return two(first, tutti::libc::strsep(t, &place(a), set));
        });
}

void others(const arena& w, std::size_t x, std::size_t y, std::size_t n) {
    const auto zero = [](const arena&, int) { return 0; };
    check(
        "bcopy", w, zero, [&](arena& a) { return ::bcopy(a.bytes + x, a.bytes + y, n), 0; },
        [&](tutti::tx& t, arena& a) { return tutti::libc::bcopy(t, a.bytes + x, a.bytes + y, n), 0; });
    check(
        "bzero", w, zero, [&](arena& a) { return ::bzero(a.bytes + x, n), 0; },
        [&](tutti::tx& t, arena& a) { return tutti::libc::bzero(t, a.bytes + x, n), 0; });
    check(
        "explicit_bzero", w, zero, [&](arena& a) { return ::explicit_bzero(a.bytes + x, n), 0; },
        [&](tutti::tx& t, arena& a) { return tutti::libc::explicit_bzero(t, a.bytes + x, n), 0; });
    // free returns strdup's memory in the same block; the text is compared.
    const auto copied = [&](arena& a, char* copy) {
        ::strcpy(a.bytes + room, copy);
        ::free(copy);
        return 0;
    };
    const auto copied_here = [&](tutti::tx& t, arena& a, char* copy) {
        tutti::libc::strcpy(t, a.bytes + room, copy);
        tutti::libc::realloc(t, copy, 0);
        return 0;
    };
    check(
        "strdup", w, zero, [&](arena& a) { return copied(a, ::strdup(a.bytes + x)); },
        [&](tutti::tx& t, arena& a) { return copied_here(t, a, tutti::libc::strdup(t, a.bytes + x)); });
    check(
        "strndup", w, zero, [&](arena& a) { return copied(a, ::strndup(a.bytes + x, n)); },
        [&](tutti::tx& t, arena& a) { return copied_here(t, a, tutti::libc::strndup(t, a.bytes + x, n)); });
    const auto text = [&](arena& a, const char* says) {
        if (says != a.bytes + room) ::memcpy(a.bytes + room, says, 10);
        return 0;
    };
    for (const int error : {ENOENT, static_cast<int>(1000 + x)}) {
        check(
            "strerror_r", w, text, [&](arena& a) { return ::strerror_r(error, a.bytes + room, n + 20); },
            [&](tutti::tx& t, arena& a) { return tutti::libc::strerror_r(t, error, a.bytes + room, n + 20); });
    }
}

/// Only in blocks of the language.
void characters(const arena& w, std::size_t x) {
    const auto same_as_plain = [&](auto call) {
        int in_block = 0;
        __transaction_atomic { in_block = call(w.bytes[x]); }
        RC_ASSERT(in_block == call(w.bytes[x]));
    };
    same_as_plain([](unsigned char c) { return ::isalnum(c) | ::isalpha(c) | ::iscntrl(c) | ::isdigit(c); });
    same_as_plain([](unsigned char c) { return ::islower(c) | ::isgraph(c) | ::isprint(c) | ::ispunct(c); });
    same_as_plain([](unsigned char c) { return ::isspace(c) | ::isupper(c) | ::isxdigit(c) | ::isblank(c); });
    same_as_plain([](unsigned char c) { return ::toupper(c) + 1000 * ::tolower(c) + ::isascii(c) + ::toascii(c); });
    same_as_plain([](unsigned char c) { return ::ffs(c) + ::ffsl(c) + ::ffsll(c); });
    // Calls through pointers find the clones, or pure functions themselves.
    static int (*pure)(int) = ::toupper;
    same_as_plain([](unsigned char c) { return pure(c); });
}

}  // namespace

int main() {
    differential::enter_locale();
    const bool holds = rc::check([] {
        const arena w = memory();
        const auto x = *rc::gen::inRange<std::size_t>(0, 120);
        const auto y = *rc::gen::inRange<std::size_t>(0, 120);
        const auto n = *rc::gen::inRange<std::size_t>(0, 130);
        const int c = *rc::gen::elementOf(std::string("abA,\xe9z\0", 7)) + 256 * *rc::gen::inRange(0, 2);
        compares(w, x, y, n);
        searches(w, x, y, n, c);
        copies(w, x, y, n, c);
        tokens(w, x);
        others(w, x, y, n);
        characters(w, x);
    });
    return holds ? 0 : 1;
}
