// memcpy, memmove and memset. The letters say of source (R) and destination (W) whether it is transactional (t) or not
// (n), and hint at earlier accesses, which makes no difference.
#include "itm/access.hpp"

namespace tutti::itm {
namespace {

/// What is copied goes through here, in parts: the source must be read before the destination is written.
constexpr std::size_t part_bytes = 256;

void copy_forward(unsigned char* to, const unsigned char* from, std::size_t size) {
    unsigned char part[part_bytes];
    for (std::size_t done = 0; done != size;) {
        const std::size_t now = std::min(part_bytes, size - done);
        read_bytes(part, from + done, now);
        write_bytes(to + done, part, now);
        done += now;
    }
}

void copy_backward(unsigned char* to, const unsigned char* from, std::size_t size) {
    unsigned char part[part_bytes];
    for (std::size_t left = size; left != 0;) {
        const std::size_t now = std::min(part_bytes, left);
        left -= now;
        read_bytes(part, from + left, now);
        write_bytes(to + left, part, now);
    }
}

void* copy(void* to, const void* from, std::size_t size) {
    auto* const out = static_cast<unsigned char*>(to);
    const auto* const in = static_cast<const unsigned char*>(from);
    // Unsigned: also true where the destination is below the source.
    if (reinterpret_cast<std::uintptr_t>(out) - reinterpret_cast<std::uintptr_t>(in) >= size) {
        copy_forward(out, in, size);
    } else {
        copy_backward(out, in, size);
    }
    return to;
}

void* copy_in(void* to, const void* from, std::size_t size) {
    write_bytes(to, from, size);
    return to;
}

void* copy_out(void* to, const void* from, std::size_t size) {
    read_bytes(to, from, size);
    return to;
}

/// Source and destination may overlap, and only one of them is transactional.
void* move_in(void* to, const void* from, std::size_t size) {
    auto* const out = static_cast<unsigned char*>(to);
    const auto* const in = static_cast<const unsigned char*>(from);
    if (reinterpret_cast<std::uintptr_t>(out) - reinterpret_cast<std::uintptr_t>(in) >= size) {
        return copy_in(to, from, size);
    }
    unsigned char part[part_bytes];
    for (std::size_t left = size; left != 0;) {
        const std::size_t now = std::min(part_bytes, left);
        left -= now;
        std::memcpy(part, in + left, now);
        write_bytes(out + left, part, now);
    }
    return to;
}

void* move_out(void* to, const void* from, std::size_t size) {
    auto* const out = static_cast<unsigned char*>(to);
    const auto* const in = static_cast<const unsigned char*>(from);
    const bool forward = reinterpret_cast<std::uintptr_t>(out) - reinterpret_cast<std::uintptr_t>(in) >= size;
    unsigned char part[part_bytes];
    for (std::size_t done = 0; done != size;) {
        const std::size_t now = std::min(part_bytes, size - done);
        const std::size_t at = forward ? done : size - done - now;
        read_bytes(part, in + at, now);
        std::memcpy(out + at, part, now);
        done += now;
    }
    return to;
}

void fill(void* to, int value, std::size_t size) {
    unsigned char part[part_bytes];
    std::memset(part, value, std::min(part_bytes, size));
    auto* out = static_cast<unsigned char*>(to);
    for (; size != 0;) {
        const std::size_t now = std::min(part_bytes, size);
        write_bytes(out, part, now);
        out += now;
        size -= now;
    }
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

TUTTI_ITM void _ITM_memsetW(void* to, int value, std::size_t size) noexcept { tutti::itm::fill(to, value, size); }
TUTTI_ITM void _ITM_memsetWaR(void* to, int value, std::size_t size) noexcept { tutti::itm::fill(to, value, size); }
TUTTI_ITM void _ITM_memsetWaW(void* to, int value, std::size_t size) noexcept { tutti::itm::fill(to, value, size); }
