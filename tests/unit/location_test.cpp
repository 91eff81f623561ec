#include "memory/location.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <random>

namespace tutti::memory {
namespace {

TEST(location_test, stores_only_the_masked_bytes) {
    for (unsigned mask = 0; mask < 256; ++mask) {
        alignas(8) std::array<unsigned char, 8> bytes{};
        bytes.fill(0xaa);
        store_masked(reinterpret_cast<word*>(bytes.data()), 0x0807060504030201, static_cast<std::uint8_t>(mask));
        for (unsigned i = 0; i < 8; ++i) {
            const unsigned expected = (mask >> i & 1) != 0 ? i + 1 : 0xaa;
            ASSERT_EQ(bytes[i], expected) << "mask " << mask << " byte " << i;
        }
    }
}

// Random stores of every size into one word, kept in an entry and overlaid on memory, must read like direct stores.
TEST(location_test, overlays_like_the_stores_would) {
    std::mt19937_64 random{7};
    for (int round = 0; round < 2000; ++round) {
        alignas(8) std::array<unsigned char, 8> memory{};
        alignas(8) std::array<unsigned char, 8> expected{};
        const word initial = random();
        std::memcpy(memory.data(), &initial, 8);
        expected = memory;
        write_entry e{};
        for (int store = 0; store < 4; ++store) {
            const unsigned size = 1U << random() % 4;
            const unsigned at = static_cast<unsigned>(random() % (8 / size)) * size;
            const word value = size == 8 ? random() : random() & ((word{1} << 8 * size) - 1);
            const plain_location location{memory.data() + at, size};
            const word bits = bit_mask_of(location.bytes());
            e.value = (e.value & ~bits) | location.spread(value);
            e.bytes |= location.bytes();
            std::memcpy(expected.data() + at, &value, size);
        }
        for (unsigned size = 1; size <= 8; size *= 2) {
            for (unsigned at = 0; at < 8; at += size) {
                word wanted = 0;
                std::memcpy(&wanted, expected.data() + at, size);
                ASSERT_EQ(overlay(plain_location{memory.data() + at, size}, e), wanted)
                    << "size " << size << " at " << at;
            }
        }
    }
}

}  // namespace
}  // namespace tutti::memory
