// Reads and writes of values of any size: the inlined path of wt-etl for those that lie within one orec's stripe,
// and everything else out of line.
//
// The bounds of the descriptor are zero unless the attempt is optimistic and healthy (core/state/descriptor.hpp, I2,
// I3), so one comparison tells whether the inlined path may be taken. The protocol of a read is that of
// detail::access::read: orec, value, orec. x86-64 keeps loads in order and stores in order, so the compiler alone has
// to be told.
//
// Values are copied byte by byte where a stripe ends, so a writer of other bytes of the same word loses nothing.
#pragma once

#include <cstring>
#include <iterator>

#include "core/ports/algorithm.hpp"
#include "itm/block.hpp"

namespace tutti::itm {

using detail::word;
using memory::orec;

TUTTI_ALWAYS_INLINE orec& orec_at(const void* at) noexcept { return memory::orec_in(memory::orec_table, at); }

/// Whether a value of a size that is a power of two stands at a multiple of it: then it is under one orec, and in one
/// aligned word if it is no larger than that.
template <class T>
TUTTI_ALWAYS_INLINE bool is_aligned(const void* at) noexcept {
    static_assert((sizeof(T) & (sizeof(T) - 1)) == 0 && sizeof(T) <= memory::stripe_bytes);
    return (reinterpret_cast<std::uintptr_t>(at) & (sizeof(T) - 1)) == 0;
}

TUTTI_ALWAYS_INLINE void compiler_fence() noexcept { std::atomic_signal_fence(std::memory_order_acq_rel); }

/// Any size and alignment.
void read_bytes(void* to, const void* from, std::size_t size);
void write_bytes(void* to, const void* from, std::size_t size);
/// Remembers what a roll-back puts back: memory that no other thread sees and that is written without barriers.
void log_bytes(const void* at, std::size_t size);

// Addresses are untyped: a value may stand anywhere, and the compiler takes a typed pointer for an aligned one.

template <class T>
TUTTI_ALWAYS_INLINE T copy_of(const void* from) noexcept {
    T value;
    std::memcpy(&value, from, sizeof(T));
    return value;
}

/// What an attempt may read without asking others: under an orec of its own, or of its snapshot. False: not so.
template <class T>
TUTTI_ALWAYS_INLINE bool read_inlined(descriptor& d, const void* from, T& value) noexcept {
    const orec& r = orec_at(from);
    const word before = r.load(std::memory_order_acquire);
    if (detail::access::is_logged(d, before)) [[likely]] {
        const orec** const next = d.read_next_;
        if (next == d.read_end_) [[unlikely]]
            return false;
        value = copy_of<T>(from);
        compiler_fence();
        if (r.load(std::memory_order_relaxed) != before) [[unlikely]]
            return false;
        *next = &r;
        d.read_next_ = next + 1;
        return true;
    }
    // What a nested block reads under an orec of ours has to be logged in some cases: the algorithm knows which.
    if (!d.owns(before) || d.frame_->parent != nullptr || d.logged_bound_.load(std::memory_order_relaxed) == 0)
        return false;
    value = copy_of<T>(from);
    return true;
}

/// The same for a value of several words that need not be under one orec. REQUIRES: `from` is aligned to a word.
template <class T>
TUTTI_ALWAYS_INLINE bool read_words(descriptor& d, const void* from, T& value) noexcept {
    word words[sizeof(T) / sizeof(word)];
    for (std::size_t i = 0; i < std::size(words); ++i) {
        if (!read_inlined(d, static_cast<const word*>(from) + i, words[i])) return false;
    }
    std::memcpy(&value, words, sizeof(T));
    return true;
}

template <class T>
TUTTI_NOINLINE T read_slowly(const void* from) {
    T value;
    read_bytes(&value, from, sizeof(T));
    return value;
}

template <class T>
TUTTI_ALWAYS_INLINE T read(const void* from) {
    if (is_aligned<T>(from)) [[likely]] {
        T value;
        if (read_inlined(current(), from, value)) [[likely]]
            return value;
    } else if constexpr (sizeof(T) > sizeof(word)) {
        T value;
        if (is_aligned<word>(from) && read_words(current(), from, value)) return value;
    }
    return read_slowly<T>(from);
}

/// Which bytes of its aligned word `size` bytes at `at` are. REQUIRES: they are in one aligned word.
TUTTI_ALWAYS_INLINE std::uint8_t bytes_of(const void* at, std::size_t size) noexcept {
    return static_cast<std::uint8_t>(((1U << size) - 1) << (reinterpret_cast<std::uintptr_t>(at) & 7));
}
TUTTI_ALWAYS_INLINE word* word_of(const void* at) noexcept {
    return reinterpret_cast<word*>(reinterpret_cast<std::uintptr_t>(at) & ~std::uintptr_t{7});
}

/// The same for a word that is not the first written under its orec, whose lock leads to entry number `head`: finds its
/// entry in the chain, or adds one. False: an entry of a parent's, or one that lacks some of the bytes.
TUTTI_NOINLINE inline bool take_chained(descriptor& d, orec& r, word* whole, std::uint8_t bytes, std::uint32_t head) {
    for (std::uint32_t at = head; at != memory::no_entry; at = d.writes[at].next) {
        const memory::write_entry& e = d.writes[at];
        if (e.address == whole) return (e.bytes & bytes) == bytes && !d.is_of_parent(at);
    }
    d.writes.reserve_one();
    const auto added = static_cast<std::uint32_t>(d.writes.size());
    d.writes.push_reserved({whole, &r, copy_of<word>(whole), memory::no_version, d.writes[head].next, bytes, false});
    d.writes[head].next = added;
    return true;
}

/// Makes memory safe to write in place: takes its orec and remembers what was there, or finds that this has been
/// done. REQUIRES: the bytes are in one aligned word.
TUTTI_ALWAYS_INLINE bool take_inlined(descriptor& d, void* at, std::size_t size) {
    orec& r = orec_at(at);
    word seen = r.load(std::memory_order_acquire);
    word* const whole = word_of(at);
    const std::uint8_t bytes = bytes_of(at, size);
    if (detail::access::is_logged(d, seen)) [[likely]] {
        d.writes.reserve_one();
        // seq_cst: algorithms/version_clock.hpp, 1.
        if (!r.compare_exchange(seen, d.self_lock | d.writes.size(), std::memory_order_seq_cst)) [[unlikely]]
            return false;
        d.writes.push_reserved({whole, &r, copy_of<word>(whole), seen, memory::no_entry, bytes, false});
        return true;
    }
    if (!d.owns(seen) || d.logged_bound_.load(std::memory_order_relaxed) == 0) return false;
    const std::uint32_t entry = memory::entry_of(seen);
    const memory::write_entry& e = d.writes[entry];
    if (e.address == whole) return (e.bytes & bytes) == bytes && !d.is_of_parent(entry);
    return take_chained(d, r, whole, bytes, entry);
}

/// The same for a value of any size. False: at most for a part of it.
template <class T>
TUTTI_ALWAYS_INLINE bool take_value(descriptor& d, void* at) {
    if constexpr (sizeof(T) <= sizeof(word)) {
        return is_aligned<T>(at) && take_inlined(d, at, sizeof(T));
    } else {
        if (!is_aligned<word>(at)) return false;
        auto* const words = static_cast<word*>(at);
        for (std::size_t i = 0; i < sizeof(T) / sizeof(word); ++i) {
            if (!take_inlined(d, words + i, sizeof(word))) return false;
        }
        return true;
    }
}

template <class T>
TUTTI_NOINLINE void write_slowly(void* to, T value) {
    write_bytes(to, &value, sizeof(T));
}

template <class T>
TUTTI_ALWAYS_INLINE void write(void* to, T value) {
    if (take_value<T>(current(), to)) [[likely]] {
        compiler_fence();
        std::memcpy(to, &value, sizeof(T));
        return;
    }
    write_slowly(to, value);
}

/// A read of what is about to be written.
template <class T>
TUTTI_ALWAYS_INLINE T read_for_write(void* from) {
    if (take_value<T>(current(), from)) [[likely]]
        return copy_of<T>(from);
    return read<T>(from);
}

}  // namespace tutti::itm
