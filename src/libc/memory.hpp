// Access to the program's memory for the bodies in this folder: private copies of the memory, and cursors over strings.
//
// All memory that a program passes by pointer may be shared with other transactions, so it is read and written through
// barriers. Between two barriers, the bodies work on private memory: a local array, or private_memory().
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstring>

#include "libc/context.hpp"
#include "tutti/memory.hpp"

extern "C" {
__attribute__((weak)) std::uint64_t _ITM_RU8(const void*) noexcept;
__attribute__((weak)) void _ITM_WU8(void*, std::uint64_t) noexcept;
__attribute__((weak)) void _ITM_memcpyRtWn(void*, const void*, std::size_t) noexcept;
__attribute__((weak)) void _ITM_memcpyRnWt(void*, const void*, std::size_t) noexcept;
}

namespace tutti::libc {

/// Reads an aligned word of the program's memory.
inline std::uint64_t load_word(tx& t, const std::uint64_t* from) {
    return in_language(t) ? _ITM_RU8(from) : tutti::load(t, from);
}

/// Reads a pointer in the program's memory.
template <class T>
T* load_pointer(tx& t, T* const* from) {
    return reinterpret_cast<T*>(load_word(t, reinterpret_cast<const std::uint64_t*>(from)));
}
template <class T>
void store_pointer(tx& t, T** to, T* value) {
    auto* const word = reinterpret_cast<std::uint64_t*>(to);
    const auto bits = reinterpret_cast<std::uint64_t>(value);
    if (in_language(t)) _ITM_WU8(word, bits);
    else tutti::store(t, word, bits);
}

/// Copies any number of bytes, with any alignment, from the program's memory. `to` is private.
void copy_in(tx& t, void* to, const void* from, std::size_t size);
/// Copies to the program's memory. `from` is private.
void copy_out(tx& t, void* to, const void* from, std::size_t size);
/// Copies the characters of a string without its terminating 0, at most `room` of them, and returns their number. May
/// overwrite the memory in `room` after the characters. Sets `whole` to true if the terminating 0 was found and fits.
/// `to` is private.
std::size_t copy_string(tx& t, char* to, std::size_t room, const char* from, bool& whole);
/// Copies within the program's memory. The areas do not overlap, or `to` is below `from`.
void copy_over(tx& t, void* to, const void* from, std::size_t size);

template <class T>
T read(tx& t, const T* from) {
    T value;
    copy_in(t, static_cast<void*>(&value), static_cast<const void*>(from), sizeof value);
    return value;
}
template <class T>
void write(tx& t, T* to, const T& value) {
    copy_out(t, static_cast<void*>(to), static_cast<const void*>(&value), sizeof value);
}

/// Allocates memory that lives until the outermost block ends. If memory runs out, returns null and sets errno to
/// ENOMEM.
void* private_memory(tx& t, std::size_t size) noexcept;

/// A private array. A small array is on the caller's stack. If memory ran out, `at` is null and errno is ENOMEM.
template <class T, std::size_t Small = 512 / sizeof(T)>
struct private_array {
    private_array(tx& t, std::size_t count) noexcept
        : at{count <= Small                         ? local
             : count <= std::size_t(-1) / sizeof(T) ? static_cast<T*>(private_memory(t, count * sizeof(T)))
                                                    : nullptr} {}
    private_array(const private_array&) = delete;
    private_array& operator=(const private_array&) = delete;

    T local[Small];
    T* at;
};

/// Reads the characters of a string one after the other. Reads the memory in whole words: an aligned word is within one
/// page, so the word is readable if one of its bytes is.
template <class C>
class cursor {
public:
    cursor(tx& t, const C* at) noexcept : t_{t}, at_{at} {}

    /// Returns the current character.
    C peek() {
#if defined(TUTTI_SANITIZED)
        return read(t_, at_);  // because a sanitizer reports reads after the end of an object
#else
        const auto here = reinterpret_cast<std::uintptr_t>(at_);
        if (here % sizeof(C) != 0) return read(t_, at_);
        const auto* const word = reinterpret_cast<const std::uint64_t*>(here & ~std::uintptr_t{7});
        if (word != loaded_) {
            value_ = load_word(t_, word);
            loaded_ = word;
        }
        return static_cast<C>(value_ >> (8 * (here & 7)));
#endif
    }
    /// Returns the current character and moves to the next one.
    C next() {
        const C c = peek();
        ++at_;
        return c;
    }
    void skip() noexcept { ++at_; }
    /// Moves back by one character and returns it.
    C previous() {
        --at_;
        return peek();
    }
    [[nodiscard]] const C* at() const noexcept { return at_; }

private:
    tx& t_;
    const C* at_;
#if !defined(TUTTI_SANITIZED)
    const std::uint64_t* loaded_ = nullptr;
    std::uint64_t value_ = 0;
#endif
};

/// Returns the length of a string, or `limit` if the string is longer.
template <class C>
std::size_t length(tx& t, const C* of, std::size_t limit = static_cast<std::size_t>(-1)) {
    cursor c{t, of};
    std::size_t n = 0;
    while (n != limit && c.next() != 0) ++n;
    return n;
}

/// Returns a private copy of a string, with its terminating 0. If memory runs out, returns null and sets errno to
/// ENOMEM. REQUIRES: `room` lives longer than the use of the result.
template <class C, std::size_t Room>
const C* private_string(tx& t, const C* of, C (&room)[Room], std::size_t& size) {
    if constexpr (sizeof(C) == 1) {
        bool whole = false;
        size = copy_string(t, room, Room, of, whole);
        if (whole) return room;
    } else {
        cursor c{t, of};
        for (size = 0; size != Room; ++size) {
            if ((room[size] = c.next()) == 0) return room;
        }
    }
    size += length(t, of + size);
    C* const copy = static_cast<C*>(private_memory(t, (size + 1) * sizeof(C)));
    if (copy == nullptr) return nullptr;
    copy_in(t, copy, of, size * sizeof(C));
    copy[size] = 0;
    return copy;
}

/// Works like private_string, for a path. For a null path, returns null and sets errno to EFAULT, as system calls do.
template <std::size_t Room>
const char* private_path(tx& t, const char* of, char (&room)[Room], std::size_t& size) {
    if (of != nullptr) return private_string(t, of, room, size);
    errno = EFAULT;
    return nullptr;
}

}  // namespace tutti::libc
