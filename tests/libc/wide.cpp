// Strings of wide characters in transactions, compared with glibc, over generated memory.
#include <rapidcheck.h>

#include <cwchar>
#include <cwctype>
#include <string>

#include "differential.hpp"

namespace {

using namespace differential;

constexpr std::size_t characters = 128;  // size of the text; output goes after it
constexpr std::size_t max_appended = 8;  // limit for appended text

wchar_t* text(arena& a, std::size_t at = 0) { return reinterpret_cast<wchar_t*>(a.bytes) + at; }
wchar_t* target(arena& a) { return text(a, characters); }

arena memory() {
    arena a{};
    std::memset(a.bytes, 'z', sizeof a.bytes);
    const std::wstring alphabet(L"aaabbAB,; \x00e9\x4e2d\0", 13);
    for (std::size_t i = 0; i != characters; ++i) text(a)[i] = *rc::gen::elementOf(alphabet);
    // Every string is short enough to fit after the end of another one in the target (wcscat).
    text(a)[characters - max_appended] = text(a)[characters - 1] = 0;
    return a;
}

void reads(const arena& w, std::size_t x, std::size_t y, std::size_t n, wchar_t c) {
    CHECK_CALL(w, as_is{}, wcslen, (text(a, x)));
    CHECK_CALL(w, as_is{}, wcsnlen, (text(a, x), n));
    CHECK_CALL(w, sign{}, wcscmp, (text(a, x), text(a, y)));
    CHECK_CALL(w, sign{}, wcsncmp, (text(a, x), text(a, y), n));
    CHECK_CALL(w, sign{}, wcscasecmp, (text(a, x), text(a, y)));
    CHECK_CALL(w, sign{}, wcsncasecmp, (text(a, x), text(a, y), n));
    CHECK_CALL(w, sign{}, wcscoll, (text(a, x), text(a, y)));
    CHECK_CALL(w, sign{}, wmemcmp, (text(a, x), text(a, y), n));
    CHECK_CALL(w, as_is{}, wmemchr, (text(a, x), c, n));
    CHECK_CALL(w, as_is{}, wcschr, (text(a, x), c));
    CHECK_CALL(w, as_is{}, wcsrchr, (text(a, x), c));
    CHECK_CALL(w, as_is{}, wcschrnul, (text(a, x), c));
    CHECK_CALL(w, as_is{}, wcsstr, (text(a, x), text(a, y)));
    CHECK_CALL(w, as_is{}, wcspbrk, (text(a, x), text(a, y)));
    CHECK_CALL(w, as_is{}, wcsspn, (text(a, x), text(a, y)));
    CHECK_CALL(w, as_is{}, wcscspn, (text(a, x), text(a, y)));
}

void writes(const arena& w, std::size_t x, std::size_t y, std::size_t n, wchar_t c) {
    CHECK_CALL(w, as_is{}, wcscpy, (target(a), text(a, x)));
    CHECK_CALL(w, as_is{}, wcpcpy, (target(a), text(a, x)));
    CHECK_CALL(w, as_is{}, wcsncpy, (target(a), text(a, x), n));
    CHECK_CALL(w, as_is{}, wcpncpy, (target(a), text(a, x), n));
    CHECK_CALL(w, as_is{}, wmemcpy, (target(a), text(a, x), n));
    CHECK_CALL(w, as_is{}, wmempcpy, (target(a), text(a, x), n));
    CHECK_CALL(w, as_is{}, wmemmove, (text(a, y), text(a, x), n));
    CHECK_CALL(w, as_is{}, wmemset, (text(a, x), c, n));
    const auto* const at = reinterpret_cast<const wchar_t*>(w.bytes);
    if (writes_the_result_alone<wchar_t>(w, std::wcsxfrm, at + characters, at + x, characters)) {
        CHECK_CALL(w, as_is{}, wcsxfrm, (target(a), text(a, x), characters));
    }
    arena ends = w;
    target(ends)[n % max_appended] = 0;
    CHECK_CALL(ends, as_is{}, wcscat, (target(a), text(a, x)));
    CHECK_CALL(ends, as_is{}, wcsncat, (target(a), text(a, x), n % 100));
}

void tokens(const arena& w, std::size_t x) {
    const auto place = [](arena& a) -> wchar_t*& { return *reinterpret_cast<wchar_t**>(&a.bytes[1000]); };
    const auto offsets = [&](arena& a, wchar_t* token) {
        if (place(a) != nullptr) place(a) = reinterpret_cast<wchar_t*>(place(a) - text(a));
        return token == nullptr ? -1 : token - text(a);
    };
    check(
        "wcstok", w, offsets,
        [&](arena& a) {
            wchar_t* const first = ::wcstok(text(a, x), L",; ", &place(a));
            wchar_t* const second = ::wcstok(nullptr, L",; ", &place(a));
            return second != nullptr ? second : first;
        },
        [&](tutti::tx& t, arena& a) {
            wchar_t* const first = tutti::libc::wcstok(t, text(a, x), L",; ", &place(a));
            wchar_t* const second = tutti::libc::wcstok(t, nullptr, L",; ", &place(a));
            return second != nullptr ? second : first;
        });
    const auto zero = [](const arena&, int) { return 0; };
    check(
        "wcsdup", w, zero,
        [&](arena& a) {
            wchar_t* const copy = ::wcsdup(text(a, x));
            ::wcscpy(target(a), copy);
            ::free(copy);
            return 0;
        },
        [&](tutti::tx& t, arena& a) {
            wchar_t* const copy = tutti::libc::wcsdup(t, text(a, x));
            tutti::libc::wcscpy(t, target(a), copy);
            tutti::libc::realloc(t, copy, 0);
            return 0;
        });
}

void kinds(wchar_t c) {
    const auto kind = [](std::wint_t character) {
        return std::iswalpha(character) + 2 * std::iswdigit(character) + 4 * std::iswspace(character) +
               static_cast<int>(std::towupper(character)) +
               (std::iswctype(character, std::wctype("punct")) != 0 ? 1 : 0) +
               static_cast<int>(std::towctrans(character, std::wctrans("toupper")));
    };
    int in_block = 0;
    __transaction_atomic { in_block = kind(static_cast<std::wint_t>(c)); }
    RC_ASSERT(in_block == kind(static_cast<std::wint_t>(c)));
}

}  // namespace

int main() {
    differential::enter_locale();
    const bool holds = rc::check([] {
        const arena w = memory();
        const auto x = *rc::gen::inRange<std::size_t>(0, 60);
        const auto y = *rc::gen::inRange<std::size_t>(0, 60);
        const auto n = *rc::gen::inRange<std::size_t>(0, 64);
        const wchar_t c = *rc::gen::elementOf(std::wstring(L"abA,\x00e9\0", 6));
        reads(w, x, y, n, c);
        writes(w, x, y, n, c);
        tokens(w, x);
        kinds(c);
    });
    return holds ? 0 : 1;
}
