// Reads and writes values of any size and alignment.
#include "api/aligned_pieces.hpp"
#include "itm/access.hpp"

namespace tutti::itm {
namespace {

/// Each piece is aligned to its size, so it is within one word.
void read_piece(descriptor& d, void* to, const void* from, unsigned size) {
    const word value = d.operations_->load(d, from, size);
    std::memcpy(to, &value, size);
}

void write_piece(descriptor& d, void* to, const void* from, unsigned size) {
    word value = 0;
    std::memcpy(&value, from, size);
    d.operations_->store(d, to, size, value);
}

/// Returns how many of `size` bytes at `at` are in the first stripe.
std::size_t rest_of_stripe(const void* at, std::size_t size) noexcept {
    const auto offset = reinterpret_cast<std::uintptr_t>(at) & (memory::stripe_bytes - 1);
    return std::min(size, memory::stripe_bytes - offset);
}

/// Reads the part of a range that is in one stripe, in one step like read_inlined.
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

/// Returns the mask of the bytes of word `w` that belong to the range from `first` to `last`. The range may begin in an
/// earlier word and end in a later one.
std::uint8_t bytes_between(const word* w, std::uintptr_t first, std::uintptr_t last) noexcept {
    const auto at = reinterpret_cast<std::uintptr_t>(w);
    const std::uintptr_t from = first > at ? first - at : 0;
    const std::uintptr_t to = std::min<std::uintptr_t>(last - at, sizeof(word) - 1);
    return static_cast<std::uint8_t>((0xffU << from) & (0xffU >> (sizeof(word) - 1 - to)));
}

/// Acquires the part of a range that is in one stripe, in one step. The function does what acquire_inlined does for a
/// word whose orec the attempt does not own yet.
bool acquire_stripe(descriptor& d, const void* at, std::size_t size) {
    orec& r = orec_at(at);
    word seen = r.load(std::memory_order_acquire);
    if (!detail::access::is_logged(d, seen)) return false;
    const auto first = reinterpret_cast<std::uintptr_t>(at);
    const std::uintptr_t last = first + size - 1;
    word* w = word_of(at);
    const auto words = static_cast<std::uint32_t>(last / sizeof(word) - first / sizeof(word) + 1);
    d.writes.reserve(words);
    const auto head = static_cast<std::uint32_t>(d.writes.size());
    // seq_cst: see algorithms/version_clock.hpp, 1.
    if (!r.compare_exchange(seen, d.self_lock | head, std::memory_order_seq_cst)) return false;
    // The links lead from the head to the latest entry, and from there to older entries.
    d.writes.push_reserved({w, &r, copy_of<word>(w), seen, words > 1 ? head + words - 1 : memory::no_entry,
                            bytes_between(w, first, last), false});
    for (std::uint32_t i = 1; i != words; ++i) {
        ++w;
        d.writes.push_reserved({w, &r, copy_of<word>(w), memory::no_version, i > 1 ? head + i - 1 : memory::no_entry,
                                bytes_between(w, first, last), false});
    }
    return true;
}

}  // namespace

void read_bytes(void* to, const void* from, std::size_t size) {
    descriptor& d = current();
    if (runtime_state_of(d).direct) {
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
    if (runtime_state_of(d).direct) {
        std::memmove(to, from, size);
        return;
    }
    auto* out = static_cast<unsigned char*>(to);
    const auto* in = static_cast<const unsigned char*>(from);
    while (size != 0) {
        const std::size_t part = rest_of_stripe(out, size);
        if (acquire_stripe(d, out, part)) {
            compiler_fence();
            std::memcpy(out, in, part);
        } else {
            api::for_each_piece(reinterpret_cast<std::uintptr_t>(out), part, [&](std::uintptr_t at, unsigned piece) {
                auto* const place = reinterpret_cast<unsigned char*>(at);
                const unsigned char* const value = in + (place - out);
                if (!acquire_inlined(d, place, piece)) return write_piece(d, place, value, piece);
                compiler_fence();
                std::memcpy(place, value, piece);
            });
        }
        in += part;
        out += part;
        size -= part;
    }
}

}  // namespace tutti::itm
