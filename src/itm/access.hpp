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
    return e.address == whole && (e.bytes & bytes) == bytes && !d.is_of_parent(entry);
}

template <class T>
TUTTI_NOINLINE void write_slowly(void* to, T value) {
    write_bytes(to, &value, sizeof(T));
}

template <class T>
TUTTI_ALWAYS_INLINE void write(void* to, T value) {
    if constexpr (sizeof(T) <= 8) {
        if (is_aligned<T>(to)) [[likely]] {
            if (take_inlined(current(), to, sizeof(T))) [[likely]] {
                compiler_fence();
                std::memcpy(to, &value, sizeof(T));
                return;
            }
        }
    }
    write_slowly(to, value);
}

/// A read of what is about to be written.
template <class T>
TUTTI_ALWAYS_INLINE T read_for_write(void* from) {
    if constexpr (sizeof(T) <= 8) {
        if (is_aligned<T>(from)) [[likely]] {
            if (take_inlined(current(), from, sizeof(T))) [[likely]]
                return copy_of<T>(from);
        }
    }
    return read<T>(from);
}

}  // namespace tutti::itm
