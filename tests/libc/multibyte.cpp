// Multibyte characters in transactions, compared with glibc, over generated texts, in UTF-8 and in the C locale.
#include <rapidcheck.h>
#include <uchar.h>

#include <clocale>
#include <cstddef>
#include <cwchar>
#include <string>

#include "differential.hpp"

namespace {

using namespace differential;

// Offsets in the arena.
constexpr std::size_t at_text = 0, at_wide = 128, at_state = 400, at_place = 416, at_output = 512;
constexpr std::size_t max_pieces = 12;

char* text(arena& a, std::size_t at = 0) { return &a.bytes[at_text + at]; }
wchar_t* wide(arena& a, std::size_t at = 0) { return reinterpret_cast<wchar_t*>(&a.bytes[at_wide]) + at; }
mbstate_t* state(arena& a) { return reinterpret_cast<mbstate_t*>(&a.bytes[at_state]); }
char* output(arena& a) { return &a.bytes[at_output]; }
template <class C>
C* output_of(arena& a) {
    return reinterpret_cast<C*>(output(a));
}
template <class C>
const C*& place(arena& a) {
    return *reinterpret_cast<const C**>(&a.bytes[at_place]);
}

/// Characters of one to four bytes, parts of characters, and invalid bytes.
arena memory() {
    static const char* const pieces[] = {"a", "Z", "\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x98\x80", "\xe2\x82", "\xff"};
    static const wchar_t characters[] = {L'a', L'Z', 0xe4, 0x20ac, 0x1f600, static_cast<wchar_t>(0xd800), -1, 7};
    arena a{};
    std::memset(a.bytes + at_output, 'z', sizeof a.bytes - at_output);
    const bool whole_ones = *rc::gen::arbitrary<bool>();
    const auto most = whole_ones ? 5 : 7;
    std::string bytes;
    for (std::size_t n = *rc::gen::inRange<std::size_t>(0, max_pieces); n != 0; --n) {
        bytes += pieces[*rc::gen::inRange(0, most)];
    }
    std::memcpy(text(a), bytes.c_str(), bytes.size() + 1);
    std::size_t end = 0;
    for (std::size_t n = *rc::gen::inRange<std::size_t>(0, max_pieces); n != 0; --n) {
        wide(a)[end++] = characters[*rc::gen::inRange(0, whole_ones ? 5 : 8)];
    }
    return a;
}

/// Converts the place, whose value is an address, into an offset in the arena.
struct with_place {
    std::size_t operator()(arena& a, std::size_t value) const {
        auto& at = place<char>(a);
        if (at != nullptr) at = reinterpret_cast<const char*>(at - a.bytes);
        return value;
    }
};

void characters(const arena& w, std::size_t x, std::size_t n) {
    // glibc keeps an incomplete character for the next call.
    mbstate_t fresh{};
    if (std::mbrtowc(nullptr, w.bytes + at_text + x, n, &fresh) != static_cast<std::size_t>(-2)) {
        CHECK_CALL(w, as_is{}, mblen, (text(a, x), n));
        CHECK_CALL(w, as_is{}, mbtowc, (output_of<wchar_t>(a), text(a, x), n));
        CHECK_CALL(w, as_is{}, mbtowc, (nullptr, text(a, x), n));
    }
    CHECK_CALL(w, as_is{}, wctomb, (output(a), w.bytes[at_wide]));
    CHECK_CALL(w, as_is{}, mbrtowc, (output_of<wchar_t>(a), text(a, x), n, state(a)));
    CHECK_CALL(w, as_is{}, mbrtowc, (nullptr, nullptr, n, state(a)));
    CHECK_CALL(w, as_is{}, mbrlen, (text(a, x), n, state(a)));
    CHECK_CALL(w, as_is{}, mbrtoc16, (output_of<char16_t>(a), text(a, x), n, state(a)));
    CHECK_CALL(w, as_is{}, mbrtoc32, (output_of<char32_t>(a), text(a, x), n, state(a)));
    arena c = w;
    const wchar_t first = wide(c)[0];
    CHECK_CALL(w, as_is{}, wcrtomb, (output(a), first, state(a)));
    CHECK_CALL(w, as_is{}, wcrtomb, (nullptr, first, state(a)));
    CHECK_CALL(w, as_is{}, wctomb, (output(a), first));
    CHECK_CALL(w, as_is{}, c16rtomb, (output(a), static_cast<char16_t>(first), state(a)));
    CHECK_CALL(w, as_is{}, c32rtomb, (output(a), static_cast<char32_t>(first), state(a)));
    CHECK_CALL(w, as_is{}, wcswidth, (wide(a), n));
}

void strings(const arena& w, std::size_t x, std::size_t n) {
    CHECK_CALL(w, as_is{}, mbstowcs, (output_of<wchar_t>(a), text(a, x), n));
    CHECK_CALL(w, as_is{}, mbstowcs, (nullptr, text(a, x), n));
    CHECK_CALL(w, as_is{}, wcstombs, (output(a), wide(a), n));
    CHECK_CALL(w, as_is{}, wcstombs, (nullptr, wide(a), n));
    // The place points into the arena that is compared.
#define CHECK_PLACED(name, type, at, to, ...)                                                                       \
    check(                                                                                                          \
        #name, w, with_place{},                                                                                     \
        [&](arena& a) {                                                                                             \
            place<type>(a) = at;                                                                                    \
            return ::name(to, &place<type>(a), __VA_ARGS__);                                                        \
        },                                                                                                          \
        [&](tutti::tx& t, arena& a) {                                                                               \
            tutti::store(t, reinterpret_cast<const char**>(&a.bytes[at_place]), reinterpret_cast<const char*>(at)); \
            return tutti::libc::name(t, to, &place<type>(a), __VA_ARGS__);                                          \
        })
    CHECK_PLACED(mbsrtowcs, char, text(a, x), output_of<wchar_t>(a), n, state(a));
    CHECK_PLACED(mbsrtowcs, char, text(a, x), nullptr, n, state(a));
    CHECK_PLACED(mbsnrtowcs, char, text(a, x), output_of<wchar_t>(a), n / 2, n, state(a));
    CHECK_PLACED(mbsnrtowcs, char, text(a, x), nullptr, n / 2, n, state(a));
    CHECK_PLACED(wcsrtombs, wchar_t, wide(a), output(a), n, state(a));
    CHECK_PLACED(wcsrtombs, wchar_t, wide(a), nullptr, n, state(a));
    CHECK_PLACED(wcsnrtombs, wchar_t, wide(a), output(a), n / 2, n, state(a));
    CHECK_PLACED(wcsnrtombs, wchar_t, wide(a), nullptr, n / 2, n, state(a));
#undef CHECK_PLACED
}

/// The state hidden in glibc makes the block irrevocable, so the test only commits.
void hidden_state() {
    std::size_t parts[2]{};
    wchar_t made = 0;
    __transaction_atomic {
        parts[0] = ::mbrtowc(&made, "\xe2\x82", 2, nullptr);
        parts[1] = ::mbrtowc(&made, "\xac", 1, nullptr);
    }
    RC_ASSERT(parts[0] == static_cast<std::size_t>(-2) && parts[1] == 1 && made == 0x20ac);
}

}  // namespace

int main() {
    for (const char* const locale : {"C", "C.UTF-8"}) {
        if (std::setlocale(LC_ALL, locale) == nullptr) return 1;
        const bool holds = rc::check([locale] {
            const arena w = memory();
            const auto x = *rc::gen::inRange<std::size_t>(0, 3);
            const auto n = *rc::gen::inRange<std::size_t>(0, 20);
            characters(w, x, n);
            strings(w, x, n);
            if (std::strcmp(locale, "C") != 0) hidden_state();
        });
        if (!holds) return 1;
    }
    return 0;
}
