// Converts between multibyte and wide characters. glibc works on private copies of exactly the bytes that it may read.
//
// If a program passes no state, the conversion uses a hidden state in glibc, which cannot be restored. In this case
// mbrtowc and similar functions make the transaction irrevocable. mbtowc, mblen and wctomb convert whole characters, so
// here each call of them begins in the initial state.
#include <stdlib.h>
#include <uchar.h>
#include <wchar.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>

#include "libc/memory.hpp"
#include "libc/text.hpp"
#include "tutti/libc/functions.hpp"

namespace tutti::libc {
namespace {

constexpr const char* hidden_state = "a conversion whose state is hidden in the C library";
constexpr const char* local_state = "give it a state of your own";

/// A private copy of a character's bytes: at most `limit` bytes, and none after a zero.
struct bytes_of_character {
    char text[MB_LEN_MAX + 1];
    std::size_t size = 0;
    bytes_of_character(tx& t, const char* from, std::size_t limit) {
        const std::size_t most = std::min({limit, std::size_t{MB_CUR_MAX}, sizeof text});
        cursor at{t, from};
        while (size != most && (text[size++] = at.next()) != 0) {}
    }
};

/// Runs `convert(to, text, size, state)`, which works like mbrtowc.
template <class C, class Convert>
std::size_t character(tx& t, C* to, const char* from, std::size_t limit, mbstate_t* state, Convert convert) {
    if (state == nullptr) become_irrevocable(t, hidden_state, local_state);
    mbstate_t copy{};
    if (state != nullptr) copy = read(t, state);
    mbstate_t* const s = state != nullptr ? &copy : nullptr;
    C wide{};
    std::size_t result = 0;
    if (from == nullptr) {
        result = convert(nullptr, nullptr, 0, s);
    } else {
        const bytes_of_character bytes{t, from, limit};
        result = convert(&wide, bytes.text, bytes.size, s);
    }
    const int error = errno;
    const bool made_one = result != static_cast<std::size_t>(-1) && result != static_cast<std::size_t>(-2);
    if (to != nullptr && from != nullptr && made_one) write(t, to, wide);
    if (state != nullptr) write(t, state, copy);
    errno = error;
    return result;
}

/// Runs `convert(to, wide, state)`, which works like wcrtomb.
template <class C, class Convert>
std::size_t bytes(tx& t, char* to, C wide, mbstate_t* state, Convert convert) {
    if (state == nullptr) become_irrevocable(t, hidden_state, local_state);
    mbstate_t copy{};
    if (state != nullptr) copy = read(t, state);
    char text[MB_LEN_MAX];
    const std::size_t result = convert(to != nullptr ? text : nullptr, wide, state != nullptr ? &copy : nullptr);
    const int error = errno;
    if (to != nullptr && result != static_cast<std::size_t>(-1)) copy_out(t, to, text, result);
    if (state != nullptr) write(t, state, copy);
    errno = error;
    return result;
}

std::size_t length_converted(const char* from, std::size_t size, mbstate_t state) noexcept {
    return ::mbsnrtowcs(nullptr, &from, size, 0, &state);
}
std::size_t length_converted(const wchar_t* from, std::size_t size, mbstate_t state) noexcept {
    return ::wcsnrtombs(nullptr, &from, size, 0, &state);
}

/// Converts whole strings. `convert(to, from, limit, count, state)` works like mbsnrtowcs. `limit` is the maximum
/// number of characters that are read.
template <class To, class From, class Convert>
std::size_t string(tx& t, To* to, const From** from, std::size_t limit, std::size_t count, mbstate_t* state,
                   Convert convert) {
    if (state == nullptr) become_irrevocable(t, hidden_state, local_state);
    const From* const begin = load_pointer(t, from);
    // Reads only as much input as fits into `to`, because a wide character has at least one byte and at most
    // MB_CUR_MAX.
    if (to != nullptr) limit = std::min(limit, count > SIZE_MAX / MB_LEN_MAX ? SIZE_MAX : count * MB_LEN_MAX);
    std::size_t size = length(t, begin, limit);
    if (size < limit) ++size;  // includes the terminating 0
    const private_array<From> text{t, size + 1};
    const std::size_t most = sizeof(To) == 1 ? size * MB_LEN_MAX : size + 1;
    const std::size_t room = to != nullptr ? std::min(count, most) : 0;
    const private_array<To> made{t, room};
    if (text.at == nullptr || made.at == nullptr) return static_cast<std::size_t>(-1);
    copy_in(t, text.at, begin, size * sizeof(From));
    text.at[size] = 0;
    mbstate_t copy{};
    if (state != nullptr) copy = read(t, state);
    const mbstate_t before = copy;
    mbstate_t* const s = state != nullptr ? &copy : nullptr;
    const From* at = text.at;
    const std::size_t n = convert(to != nullptr ? made.at : nullptr, &at, size, room, s);
    const int error = errno;
    if (to != nullptr) {
        // As in glibc, the characters before an invalid one are stored, too.
        std::size_t stored = n;
        if (n == static_cast<std::size_t>(-1)) {
            stored = length_converted(text.at, static_cast<std::size_t>(at - text.at), before);
        } else if (at == nullptr) {
            ++stored;  // includes the terminating 0
        }
        if (stored != static_cast<std::size_t>(-1)) copy_out(t, to, made.at, stored * sizeof(To));
        store_pointer(t, const_cast<From**>(from), const_cast<From*>(at == nullptr ? at : begin + (at - text.at)));
        if (state != nullptr) write(t, state, copy);
    }
    errno = error;
    return n;
}

/// Converts a string from the initial state, and does not return where the conversion has stopped.
template <class To, class From, class Convert>
std::size_t whole_string(tx& t, To* to, const From* from, std::size_t count, Convert convert) {
    // Position and state are in memory of the transaction, because functions that use barriers get pointers to them.
    struct place {
        const From* at;
        mbstate_t state;
    };
    auto* const p = static_cast<place*>(private_memory(t, sizeof(place)));
    if (p == nullptr) return static_cast<std::size_t>(-1);
    const place begin{from, {}};
    copy_out(t, p, &begin, sizeof begin);
    return string(t, to, &p->at, unlimited, count, &p->state, convert);
}

int whole(std::size_t result) noexcept { return result > static_cast<std::size_t>(-3) ? -1 : static_cast<int>(result); }

// The variants with and without a limit are separate functions, because glibc leaves a different state in each.
std::size_t to_wide(wchar_t* to, const char** from, std::size_t, std::size_t count, mbstate_t* state) noexcept {
    return ::mbsrtowcs(to, from, count, state);
}
std::size_t from_wide(char* to, const wchar_t** from, std::size_t, std::size_t count, mbstate_t* state) noexcept {
    return ::wcsrtombs(to, from, count, state);
}

}  // namespace

std::size_t mbrtowc(tx& t, wchar_t* to, const char* from, std::size_t limit, mbstate_t* state) {
    return character(t, to, from, limit, state, ::mbrtowc);
}
std::size_t mbrlen(tx& t, const char* from, std::size_t limit, mbstate_t* state) {
    return character(
        t, static_cast<wchar_t*>(nullptr), from, limit, state,
        [](wchar_t*, const char* text, std::size_t size, mbstate_t* s) { return ::mbrlen(text, size, s); });
}
std::size_t mbrtoc16(tx& t, char16_t* to, const char* from, std::size_t limit, mbstate_t* state) {
    return character(t, to, from, limit, state, ::mbrtoc16);
}
std::size_t mbrtoc32(tx& t, char32_t* to, const char* from, std::size_t limit, mbstate_t* state) {
    return character(t, to, from, limit, state, ::mbrtoc32);
}
std::size_t wcrtomb(tx& t, char* to, wchar_t wide, mbstate_t* state) { return bytes(t, to, wide, state, ::wcrtomb); }
std::size_t c16rtomb(tx& t, char* to, char16_t wide, mbstate_t* state) { return bytes(t, to, wide, state, ::c16rtomb); }
std::size_t c32rtomb(tx& t, char* to, char32_t wide, mbstate_t* state) { return bytes(t, to, wide, state, ::c32rtomb); }

int mbtowc(tx& t, wchar_t* to, const char* from, std::size_t limit) {
    if (from == nullptr) return 0;  // there is no shift state, because the encodings of glibc's locales have none
    const bytes_of_character bytes{t, from, limit};
    mbstate_t state{};
    wchar_t wide = 0;
    const int result = whole(::mbrtowc(&wide, bytes.text, bytes.size, &state));
    const int error = errno;
    if (to != nullptr && result >= 0) write(t, to, wide);
    errno = error;
    return result;
}
int mblen(tx& t, const char* from, std::size_t limit) { return libc::mbtowc(t, nullptr, from, limit); }
int wctomb(tx& t, char* to, wchar_t wide) {
    if (to == nullptr) return 0;
    mbstate_t state{};
    char text[MB_LEN_MAX];
    const std::size_t result = ::wcrtomb(text, wide, &state);
    const int error = errno;
    if (result != static_cast<std::size_t>(-1)) copy_out(t, to, text, result);
    errno = error;
    return static_cast<int>(result);
}

std::size_t mbsnrtowcs(tx& t, wchar_t* to, const char** from, std::size_t limit, std::size_t count, mbstate_t* state) {
    return string(t, to, from, limit, count, state, ::mbsnrtowcs);
}
std::size_t mbsrtowcs(tx& t, wchar_t* to, const char** from, std::size_t count, mbstate_t* state) {
    return string(t, to, from, unlimited, count, state, to_wide);
}
std::size_t wcsnrtombs(tx& t, char* to, const wchar_t** from, std::size_t limit, std::size_t count, mbstate_t* state) {
    return string(t, to, from, limit, count, state, ::wcsnrtombs);
}
std::size_t wcsrtombs(tx& t, char* to, const wchar_t** from, std::size_t count, mbstate_t* state) {
    return string(t, to, from, unlimited, count, state, from_wide);
}
std::size_t mbstowcs(tx& t, wchar_t* to, const char* from, std::size_t count) {
    return whole_string(t, to, from, count, to_wide);
}
std::size_t wcstombs(tx& t, char* to, const wchar_t* from, std::size_t count) {
    return whole_string(t, to, from, count, from_wide);
}

int wcswidth(tx& t, const wchar_t* s, std::size_t count) {
    int width = 0;
    for (cursor at{t, s}; count != 0; --count) {
        const wchar_t c = at.next();
        if (c == 0) break;
        const int here = ::wcwidth(c);
        if (here < 0) return -1;
        width += here;
    }
    return width;
}

}  // namespace tutti::libc
