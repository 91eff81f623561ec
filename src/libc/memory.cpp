#include "libc/memory.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "api/language.hpp"
#include "api/pieces.hpp"

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
    constexpr detail::destroyer give_back = [](void* p) { std::free(p); };
    try {
        api::note_allocation(d, memory, give_back);  // from here on a roll-back frees it
    } catch (const std::bad_alloc&) {
        std::free(memory);
        errno = ENOMEM;
        return nullptr;
    }
    try {
        api::note_free(d, memory, give_back);  // and so does a commit
    } catch (const std::bad_alloc&) {
        errno = ENOMEM;  // a commit leaks it
        return nullptr;
    }
    return memory;
}

}  // namespace tutti::libc
