#include "libc/memory.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "api/aligned_pieces.hpp"
#include "api/hooks/language.hpp"

namespace tutti::libc {

void copy_in(tx& t, void* to, const void* from, std::size_t size) {
    if (in_language(t)) return _ITM_memcpyRtWn(to, from, size);
    auto* out = static_cast<unsigned char*>(to);
    api::for_each_piece(reinterpret_cast<std::uintptr_t>(from), size, [&](std::uintptr_t at, unsigned piece) {
        const detail::word value = detail::access::ops(t).load(t, reinterpret_cast<const void*>(at), piece);
        std::memcpy(out, &value, piece);
        out += piece;
    });
}

void copy_out(tx& t, void* to, const void* from, std::size_t size) {
    if (in_language(t)) return _ITM_memcpyRnWt(to, from, size);
    const auto* in = static_cast<const unsigned char*>(from);
    api::for_each_piece(reinterpret_cast<std::uintptr_t>(to), size, [&](std::uintptr_t at, unsigned piece) {
        detail::word value = 0;
        std::memcpy(&value, in, piece);
        detail::access::ops(t).store(t, reinterpret_cast<void*>(at), piece, value);
        in += piece;
    });
}

std::size_t copy_string(tx& t, char* to, std::size_t room, const char* from, bool& whole) {
    std::size_t n = 0;
    whole = false;
#if !defined(TUTTI_SANITIZED)  // because sanitizers report reads after the end of an object
    constexpr std::uint64_t ones = 0x0101010101010101U;
    constexpr std::uint64_t tops = ones << 7;
    while (room - n >= sizeof(std::uint64_t)) {
        const auto at = reinterpret_cast<std::uintptr_t>(from + n);
        const unsigned before = at % sizeof(std::uint64_t);
        // Returns the bytes of an aligned word from `at` on, shifted to the lowest bytes. The bytes are in one page.
        const std::uint64_t loaded = load_word(t, reinterpret_cast<const std::uint64_t*>(at - before)) >> (8 * before);
        const unsigned bytes = sizeof(std::uint64_t) - before;
        std::memcpy(to + n, &loaded, sizeof loaded);
        // In the result, the lowest byte whose top bit is set corresponds to the first byte that is 0.
        const std::uint64_t zeros = (loaded - ones) & ~loaded & tops;
        const unsigned length = zeros != 0 ? static_cast<unsigned>(__builtin_ctzll(zeros)) / 8 : 8;
        n += std::min(length, bytes);
        if (length < bytes) {
            whole = true;
            return n;
        }
    }
#endif
    for (cursor c{t, from + n}; n != room; ++n) {
        if ((to[n] = c.next()) == 0) {
            whole = true;
            break;
        }
    }
    return n;
}

void copy_over(tx& t, void* to, const void* from, std::size_t size) {
    unsigned char part[256];
    auto* out = static_cast<unsigned char*>(to);
    const auto* in = static_cast<const unsigned char*>(from);
    while (size != 0) {
        const std::size_t now = std::min(size, sizeof part);
        copy_in(t, part, in, now);
        copy_out(t, out, part, now);
        in += now;
        out += now;
        size -= now;
    }
}

void* private_memory(tx& t, std::size_t size) noexcept {
    void* const memory = std::malloc(size);
    if (memory == nullptr) return nullptr;
    auto& d = static_cast<descriptor&>(t);
    constexpr detail::destroyer free_memory_later = [](void* p) { std::free(p); };
    try {
        api::record_allocation(d, memory, free_memory_later);  // from now on a roll-back frees the memory
    } catch (const std::bad_alloc&) {
        std::free(memory);
        errno = ENOMEM;
        return nullptr;
    }
    try {
        api::record_free(d, memory, free_memory_later);  // from now on a commit frees the memory, too
    } catch (const std::bad_alloc&) {
        errno = ENOMEM;  // the memory is leaked if the transaction commits
        return nullptr;
    }
    return memory;
}

}  // namespace tutti::libc
