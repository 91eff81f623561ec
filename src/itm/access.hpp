// Reads and writes values of any size. The inlined path of wt-etl accesses a value within one orec's stripe.
// Out-of-line code accesses all other values.
//
// The bounds of the descriptor are zero unless the attempt is optimistic and healthy (core/state/descriptor.hpp, DSC2,
// DSC3). So one comparison decides whether the inlined path is allowed. A read follows the protocol of
// detail::access::read: orec, value, orec. x86-64 does not reorder loads with loads, or stores with stores, so only the
// compiler needs fences.
//
// At the end of a stripe, values are copied byte by byte, so that another writer's bytes in the same word are
// preserved.
#pragma once

#include <cstring>
#include <iterator>

#include "core/ports/algorithm.hpp"
#include "itm/block.hpp"

namespace tutti::itm {

using detail::word;
using memory::orec;

TUTTI_ALWAYS_INLINE orec& orec_at(const void* at) noexcept { return memory::orec_in(memory::orec_table, at); }

/// Returns true if a value, whose size is a power of two, is aligned to its size. An aligned value has one orec. If it
/// is no larger than a word, it is also within one aligned word.
template <class T>
TUTTI_ALWAYS_INLINE bool is_aligned(const void* at) noexcept {
    static_assert((sizeof(T) & (sizeof(T) - 1)) == 0 && sizeof(T) <= memory::stripe_bytes);
    return (reinterpret_cast<std::uintptr_t>(at) & (sizeof(T) - 1)) == 0;
}

TUTTI_ALWAYS_INLINE void compiler_fence() noexcept { std::atomic_signal_fence(std::memory_order_acq_rel); }

/// Read and write values of any size and alignment.
void read_bytes(void* to, const void* from, std::size_t size);
void write_bytes(void* to, const void* from, std::size_t size);
/// Records bytes so that a roll-back restores them. Used for memory that no other thread sees and that the program
/// writes without barriers.
void log_bytes(const void* at, std::size_t size);

// Addresses are untyped, because a value may have any alignment, and the compiler assumes that a typed pointer is
// aligned.

template <class T>
TUTTI_ALWAYS_INLINE T copy_of(const void* from) noexcept {
    T value;
    std::memcpy(&value, from, sizeof(T));
    return value;
}

/// Reads a value if the attempt owns its orec, or if the orec's version belongs to the attempt's snapshot. Returns
/// false if the inlined path cannot read the value.
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
    // A nested block must log some reads of stripes whose orec this attempt owns. The algorithm decides which.
    if (!d.owns(before) || d.frame_->parent != nullptr || d.logged_bound_.load(std::memory_order_relaxed) == 0)
        return false;
    value = copy_of<T>(from);
    return true;
}

/// Reads a value of several words, which may have different orecs, by read_inlined. REQUIRES: `from` is aligned to a
/// word.
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
TUTTI_NOINLINE T read_out_of_line(const void* from) {
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
    return read_out_of_line<T>(from);
}

/// Returns the mask that selects the `size` bytes at `at` in their aligned word. REQUIRES: the bytes are in one aligned
/// word.
TUTTI_ALWAYS_INLINE std::uint8_t bytes_of(const void* at, std::size_t size) noexcept {
    return static_cast<std::uint8_t>(((1U << size) - 1) << (reinterpret_cast<std::uintptr_t>(at) & 7));
}
TUTTI_ALWAYS_INLINE word* word_of(const void* at) noexcept {
    return reinterpret_cast<word*>(reinterpret_cast<std::uintptr_t>(at) & ~std::uintptr_t{7});
}

/// Records a word that is not the first one written under its orec. The orec's lock leads to entry number `head`, the
/// start of a chain of entries. Finds the word's entry in the chain, or adds an entry. Returns false if the entry
/// belongs to a parent or lacks some of the bytes.
TUTTI_NOINLINE inline bool acquire_chained(descriptor& d, orec& r, word* whole, std::uint8_t bytes,
                                           std::uint32_t head) {
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

/// Makes memory safe to write in place. Acquires its orec and records the old value, unless the attempt has already
/// done so. REQUIRES: the bytes are in one aligned word.
TUTTI_ALWAYS_INLINE bool acquire_inlined(descriptor& d, void* at, std::size_t size) {
    orec& r = orec_at(at);
    word seen = r.load(std::memory_order_acquire);
    word* const whole = word_of(at);
    const std::uint8_t bytes = bytes_of(at, size);
    if (detail::access::is_logged(d, seen)) [[likely]] {
        d.writes.reserve_one();
        // seq_cst: see algorithms/version_clock.hpp, 1.
        if (!r.compare_exchange(seen, d.self_lock | d.writes.size(), std::memory_order_seq_cst)) [[unlikely]]
            return false;
        d.writes.push_reserved({whole, &r, copy_of<word>(whole), seen, memory::no_entry, bytes, false});
        return true;
    }
    if (!d.owns(seen) || d.logged_bound_.load(std::memory_order_relaxed) == 0) return false;
    const std::uint32_t entry = memory::entry_of(seen);
    const memory::write_entry& e = d.writes[entry];
    if (e.address == whole) return (e.bytes & bytes) == bytes && !d.is_of_parent(entry);
    return acquire_chained(d, r, whole, bytes, entry);
}

/// Makes a value of any size safe to write in place. If the result is false, the attempt may have acquired the orecs of
/// a part of the value.
template <class T>
TUTTI_ALWAYS_INLINE bool acquire_value(descriptor& d, void* at) {
    if constexpr (sizeof(T) <= sizeof(word)) {
        return is_aligned<T>(at) && acquire_inlined(d, at, sizeof(T));
    } else {
        if (!is_aligned<word>(at)) return false;
        auto* const words = static_cast<word*>(at);
        for (std::size_t i = 0; i < sizeof(T) / sizeof(word); ++i) {
            if (!acquire_inlined(d, words + i, sizeof(word))) return false;
        }
        return true;
    }
}

template <class T>
TUTTI_NOINLINE void write_out_of_line(void* to, T value) {
    write_bytes(to, &value, sizeof(T));
}

template <class T>
TUTTI_ALWAYS_INLINE void write(void* to, T value) {
    if (acquire_value<T>(current(), to)) [[likely]] {
        compiler_fence();
        std::memcpy(to, &value, sizeof(T));
        return;
    }
    write_out_of_line(to, value);
}

/// Reads a value that the block is about to write.
template <class T>
TUTTI_ALWAYS_INLINE T read_for_write(void* from) {
    if (acquire_value<T>(current(), from)) [[likely]]
        return copy_of<T>(from);
    return read<T>(from);
}

}  // namespace tutti::itm
