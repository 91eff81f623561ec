// The common part of the functions of strings and of wide strings: walks over the program's characters. The walks read
// a word at a time. They stop where glibc stops, because a read beyond that place may cause a conflict or reach
// unmapped memory.
#pragma once

#include <cctype>
#include <cstddef>
#include <cstdint>
#include <cwctype>

#include "libc/memory.hpp"
#include "tutti/libc/functions.hpp"

namespace tutti::libc {

constexpr std::size_t unlimited = SIZE_MAX;

struct exactly {
    template <class C>
    C operator()(C c) const noexcept {
        return c;
    }
};
/// Maps characters so that their case is ignored, by the thread's locale.
struct ignoring_case {
    char operator()(char c) const noexcept { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }
    wchar_t operator()(wchar_t c) const noexcept {
        return static_cast<wchar_t>(std::towlower(static_cast<std::wint_t>(c)));
    }
};

inline int order(char a, char b) noexcept { return static_cast<unsigned char>(a) - static_cast<unsigned char>(b); }
inline int order(wchar_t a, wchar_t b) noexcept { return (a > b) - (a < b); }

/// Compares at most `limit` characters of two strings.
template <class C, class Fold = exactly>
int compare(tx& t, const C* a, const C* b, std::size_t limit = unlimited, Fold fold = {}) {
    cursor left{t, a};
    cursor right{t, b};
    for (; limit != 0; --limit) {
        const C l = left.next();
        const C r = right.next();
        const int o = order(fold(l), fold(r));
        if (o != 0 || l == 0) return o;
    }
    return 0;
}

/// Compares `count` characters, which may be zeros.
template <class C>
int compare_memory(tx& t, const C* a, const C* b, std::size_t count) {
    cursor left{t, a};
    cursor right{t, b};
    for (; count != 0; --count) {
        const int o = order(left.next(), right.next());
        if (o != 0) return o;
    }
    return 0;
}

/// Finds the first `c` in a string; returns null if there is no `c`. If `end` is given, sets it to the place where the
/// walk stopped.
template <class C>
C* find(tx& t, const C* in, C c, C** end = nullptr) {
    cursor at{t, in};
    for (C here = at.peek(); here != c && here != 0; here = at.peek()) at.skip();
    auto* const stop = const_cast<C*>(at.at());
    if (end != nullptr) *end = stop;
    return at.peek() == c ? stop : nullptr;
}

template <class C>
C* find_last(tx& t, const C* in, C c) {
    const C* last = nullptr;
    cursor at{t, in};
    for (;;) {
        const C here = at.peek();
        if (here == c) last = at.at();
        if (here == 0) return const_cast<C*>(last);
        at.skip();
    }
}

template <class C>
C* find_in_memory(tx& t, const C* in, C c, std::size_t count) {
    for (cursor at{t, in}; count != 0; --count, at.skip())
        if (at.peek() == c) return const_cast<C*>(at.at());
    return nullptr;
}

/// The characters of a string, as a set.
template <class C>
class character_set {
public:
    character_set(tx& t, const C* of) : t_{t}, of_{of} {}
    bool contains(C c) const { return c != 0 && find(t_, of_, c) != nullptr; }

private:
    tx& t_;
    const C* of_;
};
template <>
class character_set<char> {
public:
    character_set(tx& t, const char* of) {
        cursor at{t, of};
        for (char c = at.next(); c != 0; c = at.next()) contains_[static_cast<unsigned char>(c)] = true;
    }
    [[nodiscard]] bool contains(char c) const noexcept { return contains_[static_cast<unsigned char>(c)]; }

private:
    bool contains_[256]{};
};

/// Returns the string's first character that is in `set`. If `in_set` is false, returns the first character that is not
/// in `set`. If there is no such character, returns the string's end.
template <class C>
C* first_of(tx& t, const C* in, const C* set, bool in_set = true) {
    const character_set<C> characters{t, set};
    cursor at{t, in};
    for (C c = at.peek(); c != 0 && characters.contains(c) != in_set; c = at.peek()) at.skip();
    return const_cast<C*>(at.at());
}

/// Returns the place where `needle` begins, or null. Reads at most `limit` characters of `in`, and no characters after
/// a zero if `in` is a `string`. Linear, and reads each character once (Knuth, Morris and Pratt, "Fast pattern matching
/// in strings", SIAM J. Comput. 6(2), 1977).
template <class C, class Fold = exactly>
C* search(tx& t, const C* in, std::size_t limit, bool string, const C* needle, std::size_t size, Fold fold = {}) {
    if (size == 0) return const_cast<C*>(in);
    if (size > limit) return nullptr;
    const private_array<C> wanted{t, size};
    // falls_to[n] characters at the end of wanted[0, n] are also the beginning of `wanted`.
    const private_array<std::size_t> falls_to{t, size};
    if (wanted.at == nullptr || falls_to.at == nullptr) {
        // The function cannot report that there is no memory for the table. So it then searches without the table,
        // which is slow.
        for (;; ++in, --limit) {
            if (size > limit) return nullptr;
            const bool is_here =
                string ? compare(t, in, needle, size, fold) == 0 : compare_memory(t, in, needle, size) == 0;
            if (is_here) return const_cast<C*>(in);
            if (string && read(t, in) == 0) return nullptr;
        }
    }
    copy_in(t, wanted.at, needle, size * sizeof(C));
    for (std::size_t n = 0; n != size; ++n) wanted.at[n] = fold(wanted.at[n]);
    falls_to.at[0] = 0;
    for (std::size_t n = 1, same = 0; n != size; ++n) {
        while (same != 0 && wanted.at[n] != wanted.at[same]) same = falls_to.at[same - 1];
        if (wanted.at[n] == wanted.at[same]) ++same;
        falls_to.at[n] = same;
    }
    cursor at{t, in};
    for (std::size_t same = 0; limit != 0; --limit) {
        const C here = at.next();
        if (string && here == 0) return nullptr;
        const C c = fold(here);
        while (same != 0 && c != wanted.at[same]) same = falls_to.at[same - 1];
        if (c == wanted.at[same]) ++same;
        if (same == size) return const_cast<C*>(at.at() - size);
    }
    return nullptr;
}

template <class C>
void fill(tx& t, C* to, C value, std::size_t count) {
    C part[256 / sizeof(C)];
    for (C& c : part) c = value;
    while (count != 0) {
        const std::size_t now = count < std::size(part) ? count : std::size(part);
        copy_out(t, to, part, now * sizeof(C));
        to += now;
        count -= now;
    }
}

/// Copies a string and returns the place of the terminating 0.
template <class C>
C* copy_string(tx& t, C* to, const C* from, std::size_t limit = unlimited) {
    const std::size_t size = length(t, from, limit);
    copy_over(t, to, from, size * sizeof(C));
    write(t, to + size, C{0});
    return to + size;
}

/// Writes exactly `count` characters: those of the string, followed by zeros. Returns the place of the first zero, or
/// the end of the written characters.
template <class C>
C* copy_padded(tx& t, C* to, const C* from, std::size_t count) {
    const std::size_t size = length(t, from, count);
    copy_over(t, to, from, size * sizeof(C));
    fill(t, to + size, C{0}, count - size);
    return to + size;
}

/// Cuts off the next token of `text` and ends it with a zero. Sets `rest` to the text after the token, or to null if
/// the token is the last.
template <class C>
C* cut_token(tx& t, C* text, const C* delimiters, C*& rest) {
    C* const end = first_of(t, text, delimiters);
    rest = nullptr;
    if (read(t, end) != 0) {
        write(t, end, C{0});
        rest = end + 1;
    }
    return text;
}

/// Implements strxfrm and wcsxfrm. A result of `size` characters or more is not stored.
template <class C>
std::size_t transformed(tx& t, C* to, const C* from, std::size_t size,
                        std::size_t (*transform)(C*, const C*, std::size_t) noexcept) {
    C room[512 / sizeof(C)];
    std::size_t n = 0;
    const C* const text = private_string(t, from, room, n);
    if (text == nullptr) return size;
    const std::size_t needed = transform(nullptr, text, 0);
    if (needed >= size) return needed;
    const private_array<C> key{t, needed + 1};
    if (key.at == nullptr) return size;
    transform(key.at, text, needed + 1);
    copy_out(t, to, key.at, (needed + 1) * sizeof(C));
    return needed;
}

/// Duplicates a string in memory that the program can free, as if it came from malloc.
template <class C>
C* duplicate(tx& t, const C* from, std::size_t limit = unlimited) {
    const std::size_t size = length(t, from, limit);
    auto* const copy = static_cast<C*>(libc::realloc(t, nullptr, (size + 1) * sizeof(C)));
    if (copy == nullptr) return nullptr;
    // The copy is written without barriers, because no other thread can access it yet.
    copy_in(t, copy, from, size * sizeof(C));
    copy[size] = 0;
    return copy;
}

}  // namespace tutti::libc
