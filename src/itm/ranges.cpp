// Implements memcpy, memmove and memset. The letters in a name say whether source (R) and destination (W) are
// transactional (t) or not (n). Further letters are hints about earlier accesses, which this runtime ignores.
#include "itm/access.hpp"

namespace tutti::itm {
namespace {

/// The size of the buffer through which data is copied if source and destination cannot be accessed at the same time.
constexpr std::size_t part_bytes = 256;

/// Calls f(offset, size) for every part of a range, from low to high addresses or in reverse.
template <class F>
void for_each_part(std::size_t size, bool upwards, F&& f) {
    for (std::size_t done = 0; done != size;) {
        const std::size_t now = std::min(part_bytes, size - done);
        f(upwards ? done : size - done - now, now);
        done += now;
    }
}

/// Returns true if a copy from low to high addresses reads each source byte before it overwrites the byte.
bool goes_upwards(const void* to, const void* from, std::size_t size) noexcept {
    // The subtraction is unsigned, so the result is also true if the destination is below the source.
    return reinterpret_cast<std::uintptr_t>(to) - reinterpret_cast<std::uintptr_t>(from) >= size;
}

void plain_bytes(void* to, const void* from, std::size_t size) noexcept { std::memcpy(to, from, size); }

/// Copies bytes; source and destination may overlap.
template <auto Read, auto Write>
void* move(void* to, const void* from, std::size_t size) {
    auto* const out = static_cast<unsigned char*>(to);
    const auto* const in = static_cast<const unsigned char*>(from);
    unsigned char part[part_bytes];
    for_each_part(size, goes_upwards(to, from, size), [&](std::size_t at, std::size_t now) {
        Read(part, in + at, now);
        Write(out + at, part, now);
    });
    return to;
}

void* copy(void* to, const void* from, std::size_t size) { return move<read_bytes, write_bytes>(to, from, size); }

void* copy_in(void* to, const void* from, std::size_t size) {
    write_bytes(to, from, size);
    return to;
}

void* copy_out(void* to, const void* from, std::size_t size) {
    read_bytes(to, from, size);
    return to;
}

void* move_in(void* to, const void* from, std::size_t size) {
    if (goes_upwards(to, from, size)) return copy_in(to, from, size);
    return move<plain_bytes, write_bytes>(to, from, size);
}

void* move_out(void* to, const void* from, std::size_t size) { return move<read_bytes, plain_bytes>(to, from, size); }

void* fill(void* to, int value, std::size_t size) {
    unsigned char part[part_bytes];
    std::memset(part, value, std::min(part_bytes, size));
    auto* const out = static_cast<unsigned char*>(to);
    for_each_part(size, true, [&](std::size_t at, std::size_t now) { write_bytes(out + at, part, now); });
    return to;
}

}  // namespace
}  // namespace tutti::itm

#define TUTTI_ITM_RANGE(name, body)                                                      \
    TUTTI_ITM void* _ITM_##name(void* to, const void* from, std::size_t size) noexcept { \
        return tutti::itm::body(to, from, size);                                         \
    }

#define TUTTI_ITM_RANGES(call, in, out, both) \
    TUTTI_ITM_RANGE(call##RnWt, in)           \
    TUTTI_ITM_RANGE(call##RnWtaR, in)         \
    TUTTI_ITM_RANGE(call##RnWtaW, in)         \
    TUTTI_ITM_RANGE(call##RtWn, out)          \
    TUTTI_ITM_RANGE(call##RtaRWn, out)        \
    TUTTI_ITM_RANGE(call##RtaWWn, out)        \
    TUTTI_ITM_RANGE(call##RtWt, both)         \
    TUTTI_ITM_RANGE(call##RtWtaR, both)       \
    TUTTI_ITM_RANGE(call##RtWtaW, both)       \
    TUTTI_ITM_RANGE(call##RtaRWt, both)       \
    TUTTI_ITM_RANGE(call##RtaRWtaR, both)     \
    TUTTI_ITM_RANGE(call##RtaRWtaW, both)     \
    TUTTI_ITM_RANGE(call##RtaWWt, both)       \
    TUTTI_ITM_RANGE(call##RtaWWtaR, both)     \
    TUTTI_ITM_RANGE(call##RtaWWtaW, both)

TUTTI_ITM_RANGES(memcpy, copy_in, copy_out, copy)
TUTTI_ITM_RANGES(memmove, move_in, move_out, copy)

// In the ABI, this function returns nothing. But GCC 12 reads the result of the program's memset from the return
// register, so the function returns that result.
TUTTI_ITM void* _ITM_memsetW(void* to, int value, std::size_t size) noexcept {
    return tutti::itm::fill(to, value, size);
}
TUTTI_ITM void* _ITM_memsetWaR(void* to, int value, std::size_t size) noexcept {
    return tutti::itm::fill(to, value, size);
}
TUTTI_ITM void* _ITM_memsetWaW(void* to, int value, std::size_t size) noexcept {
    return tutti::itm::fill(to, value, size);
}
