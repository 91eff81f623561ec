// Implements the byte functions of <string.h> and <strings.h>.
#include <cstdint>

#include "libc/text.hpp"

namespace tutti::libc {
namespace {

const char* bytes(const void* p) noexcept { return static_cast<const char*>(p); }
char* bytes(void* p) noexcept { return static_cast<char*>(p); }

}  // namespace

void* memcpy(tx& t, void* to, const void* from, std::size_t size) {
    copy_over(t, to, from, size);
    return to;
}

void* mempcpy(tx& t, void* to, const void* from, std::size_t size) {
    return bytes(libc::memcpy(t, to, from, size)) + size;
}

void* memmove(tx& t, void* to, const void* from, std::size_t size) {
    const auto ahead = reinterpret_cast<std::uintptr_t>(to) - reinterpret_cast<std::uintptr_t>(from);
    if (ahead >= size) return libc::memcpy(t, to, from, size);  // `to` is below `from`, or the areas do not overlap
    char part[256];
    while (size != 0) {
        const std::size_t now = size < sizeof part ? size : sizeof part;
        size -= now;
        copy_in(t, part, bytes(from) + size, now);
        copy_out(t, bytes(to) + size, part, now);
    }
    return to;
}

void* memset(tx& t, void* to, int c, std::size_t size) {
    fill(t, bytes(to), static_cast<char>(c), size);
    return to;
}

void* memccpy(tx& t, void* to, const void* from, int c, std::size_t size) {
    const char* const last = find_in_memory(t, bytes(from), static_cast<char>(c), size);
    const std::size_t count = last != nullptr ? static_cast<std::size_t>(last - bytes(from)) + 1 : size;
    copy_over(t, to, from, count);
    return last != nullptr ? bytes(to) + count : nullptr;
}

int memcmp(tx& t, const void* a, const void* b, std::size_t size) {
    return compare_memory(t, bytes(a), bytes(b), size);
}
int bcmp(tx& t, const void* a, const void* b, std::size_t size) { return libc::memcmp(t, a, b, size); }

void* memchr(tx& t, const void* in, int c, std::size_t size) {
    return find_in_memory(t, bytes(in), static_cast<char>(c), size);
}
void* rawmemchr(tx& t, const void* in, int c) { return libc::memchr(t, in, c, unlimited); }

void* memrchr(tx& t, const void* in, int c, std::size_t size) {
    cursor at{t, bytes(in) + size};
    for (; size != 0; --size)
        if (at.previous() == static_cast<char>(c)) return const_cast<char*>(at.at());
    return nullptr;
}

void* memmem(tx& t, const void* in, std::size_t size, const void* needle, std::size_t needle_size) {
    return search(t, bytes(in), size, false, bytes(needle), needle_size);
}

void bcopy(tx& t, const void* from, void* to, std::size_t size) { libc::memmove(t, to, from, size); }
void bzero(tx& t, void* to, std::size_t size) { libc::memset(t, to, 0, size); }
void explicit_bzero(tx& t, void* to, std::size_t size) { libc::memset(t, to, 0, size); }

}  // namespace tutti::libc
