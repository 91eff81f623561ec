// The locations that a transaction reads or writes: a variable with its own orec, or up to eight plain bytes under a
// hashed orec. Algorithms are templates over these two types, so the code for variables has no extra cost for plain
// memory.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#include "memory/orec.hpp"
#include "memory/write_set.hpp"

namespace tutti::memory {

/// Returns the bits of a word that belong to the bytes of a mask.
constexpr word bit_mask_of(std::uint8_t bytes) noexcept {
    word bits = 0;
    for (unsigned i = 0; i < 8; ++i) {
        const unsigned at = std::endian::native == std::endian::little ? i : 7 - i;
        if ((bytes >> i & 1) != 0) bits |= word{0xff} << (8 * at);
    }
    return bits;
}

/// Loads 1, 2, 4 or 8 aligned bytes, zero-extended. The load is an acquire, as the protocol of detail::access::read
/// requires.
inline word load_bytes(const void* from, unsigned size) noexcept {
    detail::interleaving_point();
    switch (size) {
        case 1: return __atomic_load_n(static_cast<const std::uint8_t*>(from), __ATOMIC_ACQUIRE);
        case 2: return __atomic_load_n(static_cast<const std::uint16_t*>(from), __ATOMIC_ACQUIRE);
        case 4: return __atomic_load_n(static_cast<const std::uint32_t*>(from), __ATOMIC_ACQUIRE);
        default: return __atomic_load_n(static_cast<const std::uint64_t*>(from), __ATOMIC_ACQUIRE);
    }
}

/// Stores aligned bytes. The store is a release, so that a thread that reads the value finds the orec locked.
inline void store_bytes(void* to, unsigned size, word value) noexcept {
    detail::interleaving_point();
    switch (size) {
        case 1:
            __atomic_store_n(static_cast<std::uint8_t*>(to), static_cast<std::uint8_t>(value), __ATOMIC_RELEASE);
            return;
        case 2:
            __atomic_store_n(static_cast<std::uint16_t*>(to), static_cast<std::uint16_t>(value), __ATOMIC_RELEASE);
            return;
        case 4:
            __atomic_store_n(static_cast<std::uint32_t*>(to), static_cast<std::uint32_t>(value), __ATOMIC_RELEASE);
            return;
        default: __atomic_store_n(static_cast<std::uint64_t*>(to), value, __ATOMIC_RELEASE); return;
    }
}

/// Stores only the bytes of `value` that `bytes` selects, because the bytes next to them may belong to other variables.
inline void store_masked(word* address, word value, std::uint8_t bytes) noexcept {
    if (bytes == 0xff) return store_bytes(address, 8, value);
    for (unsigned at = 0; at < 8;) {
        if ((bytes >> at & 1) == 0) {
            ++at;
            continue;
        }
        unsigned size = 1;
        while (size < 4 && at % (2 * size) == 0 && (bytes >> at & ((1U << 2 * size) - 1)) == (1U << 2 * size) - 1)
            size *= 2;
        // Byte i of the word is its i-th lowest byte only on a little-endian machine.
        const unsigned shift = std::endian::native == std::endian::little ? 8 * at : 8 * (8 - at - size);
        store_bytes(reinterpret_cast<char*>(address) + at, size, value >> shift);
        at += size;
    }
}

/// The word of a var<T>.
class var_location {
public:
    explicit var_location(const detail::cell& cell) noexcept : cell_{&cell} {}

    [[nodiscard]] memory::orec& orec() const noexcept { return cell_->orec; }
    [[nodiscard]] word* address() const noexcept {
        return reinterpret_cast<word*>(const_cast<detail::shared<word>*>(&cell_->value));
    }
    [[nodiscard]] const void* location() const noexcept { return address(); }
    static constexpr unsigned size() noexcept { return 8; }
    static constexpr std::uint8_t bytes() noexcept { return 0xff; }
    static constexpr bool is_plain = false;

    /// Returns the current value in memory.
    [[nodiscard]] word read() const noexcept { return cell_->value.load(std::memory_order_acquire); }
    void write(word value) const noexcept {
        const_cast<detail::shared<word>&>(cell_->value).store(value, std::memory_order_release);
    }
    /// Convert between a whole word and the part of the word that belongs to this location.
    static constexpr word extract(word whole) noexcept { return whole; }
    static constexpr word spread(word value) noexcept { return value; }

private:
    const detail::cell* cell_;
};

/// Plain bytes.
class plain_location {
public:
    plain_location(const void* at, unsigned size) noexcept : at_{reinterpret_cast<std::uintptr_t>(at)}, size_{size} {}

    [[nodiscard]] memory::orec& orec() const noexcept { return orec_of(reinterpret_cast<const void*>(at_)); }
    [[nodiscard]] word* address() const noexcept { return reinterpret_cast<word*>(at_ & ~std::uintptr_t{7}); }
    [[nodiscard]] const void* location() const noexcept { return reinterpret_cast<const void*>(at_); }
    [[nodiscard]] unsigned size() const noexcept { return size_; }
    [[nodiscard]] std::uint8_t bytes() const noexcept {
        return static_cast<std::uint8_t>(((1U << size_) - 1) << (at_ & 7));
    }
    static constexpr bool is_plain = true;

    [[nodiscard]] word read() const noexcept { return load_bytes(reinterpret_cast<const void*>(at_), size_); }
    void write(word value) const noexcept { store_bytes(reinterpret_cast<void*>(at_), size_, value); }
    [[nodiscard]] word extract(word whole) const noexcept { return (whole >> shift()) & low_bits(); }
    [[nodiscard]] word spread(word value) const noexcept { return (value & low_bits()) << shift(); }

private:
    [[nodiscard]] word low_bits() const noexcept { return size_ == 8 ? ~word{0} : (word{1} << 8 * size_) - 1; }
    [[nodiscard]] unsigned shift() const noexcept {
        const auto offset = static_cast<unsigned>(at_ & 7);
        return std::endian::native == std::endian::little ? 8 * offset : 8 * (8 - offset - size_);
    }

    std::uintptr_t at_;
    unsigned size_;
};

/// Returns the value of `location` for the transaction that wrote `entry`: the bytes in the entry replace those in
/// memory.
template <class Location>
word overlay(const Location& location, const write_entry& entry) noexcept {
    if ((entry.bytes & location.bytes()) == location.bytes()) return location.extract(entry.value);
    const word own = bit_mask_of(entry.bytes);
    return location.extract((entry.value & own) | (location.spread(location.read()) & ~own));
}

}  // namespace tutti::memory
