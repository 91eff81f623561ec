// Accesses of any size and alignment.
#include "api/pieces.hpp"
#include "itm/access.hpp"

namespace tutti::itm {
namespace {

/// A piece is aligned to its size, so it lies in one word.
void read_piece(descriptor& d, void* to, const void* from, unsigned size) {
    const word value = d.operations_->load(d, from, size);
    std::memcpy(to, &value, size);
}

void write_piece(descriptor& d, void* to, const void* from, unsigned size) {
    word value = 0;
    std::memcpy(&value, from, size);
    d.operations_->store(d, to, size, value);
}

/// As much of `size` bytes at `at` as one stripe holds.
std::size_t rest_of_stripe(const void* at, std::size_t size) noexcept {
    const auto offset = reinterpret_cast<std::uintptr_t>(at) & (memory::stripe_bytes - 1);
    return std::min(size, memory::stripe_bytes - offset);
}

/// A stripe's part of a range at once, as read_inlined does.
bool read_stripe(descriptor& d, void* to, const void* from, std::size_t size) noexcept {
    const orec& r = orec_at(from);
    const word before = r.load(std::memory_order_acquire);
    if (!detail::access::is_logged(d, before) || d.read_next_ == d.read_end_) return false;
    std::memcpy(to, from, size);
    compiler_fence();
    if (r.load(std::memory_order_relaxed) != before) return false;
    *d.read_next_++ = &r;
    return true;
}

}  // namespace

void read_bytes(void* to, const void* from, std::size_t size) {
    descriptor& d = current();
    if (side_of(d).direct) {
        std::memmove(to, from, size);
        return;
    }
    auto* out = static_cast<unsigned char*>(to);
    const auto* in = static_cast<const unsigned char*>(from);
    while (size != 0) {
        const std::size_t part = rest_of_stripe(in, size);
        if (!read_stripe(d, out, in, part)) {
            api::for_each_piece(reinterpret_cast<std::uintptr_t>(in), part, [&](std::uintptr_t at, unsigned piece) {
                const auto* const from_here = reinterpret_cast<const unsigned char*>(at);
                read_piece(d, out + (from_here - in), from_here, piece);
            });
        }
        in += part;
        out += part;
        size -= part;
    }
}

void write_bytes(void* to, const void* from, std::size_t size) {
    descriptor& d = current();
    if (side_of(d).direct) {
        std::memmove(to, from, size);
        return;
    }
    const auto* const in = static_cast<const unsigned char*>(from);
    const auto begin = reinterpret_cast<std::uintptr_t>(to);
    api::for_each_piece(begin, size, [&](std::uintptr_t at, unsigned piece) {
        auto* const place = reinterpret_cast<unsigned char*>(at);
        const unsigned char* const value = in + (at - begin);
        if (!take_inlined(d, place, piece)) return write_piece(d, place, value, piece);
        compiler_fence();
        std::memcpy(place, value, piece);
    });
}

}  // namespace tutti::itm
