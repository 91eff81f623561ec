#include "preempt/procedures/busy.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>

namespace procedures {
namespace {

std::uint64_t next(std::uint64_t& x) noexcept {
    x = x * 6364136223846793005U + 1442695040888963407U;
    return x >> 33;
}

using lanes = double __attribute__((vector_size(32)));

/// A leaf function, so that values that are not in registers are in the red zone.
[[gnu::noinline]] std::uint64_t grind(std::uint64_t seed, std::uint64_t rounds) noexcept {
    volatile std::uint64_t below[8] = {seed, 1, 2, 3, 4, 5, 6, 7};
    lanes v = {1.5, 2.5, 3.5, static_cast<double>(seed % 7)};
    const lanes factor = {1.0000001, 0.9999999, 1.0000002, 0.9999998};
    std::uint64_t x = seed;
    for (std::uint64_t i = 0; i < rounds; ++i) {
        x = x * 6364136223846793005U + 1442695040888963407U;
        v = v * factor;
        below[i % 8] = below[i % 8] + (x >> 60);
    }
    std::uint64_t sum = x;
    for (const volatile std::uint64_t& b : below) sum = sum * 31 + b;
    std::uint64_t bits[4];
    std::memcpy(bits, &v, sizeof bits);
    for (const std::uint64_t b : bits) sum ^= b;
    return sum;
}

}  // namespace

void spin(void* of_spinner) noexcept {
    auto& s = *static_cast<spinner*>(of_spinner);
    s.started.store(true);
    std::uint64_t turns = 0;
    while (!s.stop.load(std::memory_order_relaxed)) s.turns.store(++turns, std::memory_order_relaxed);
}

void mark(void* of_marker) noexcept {
    auto& m = *static_cast<marker*>(of_marker);
    m.at.store(m.clock->fetch_add(1) + 1);
}

void keep(void* of_keeper) noexcept {
    auto& k = *static_cast<keeper*>(of_keeper);
    constexpr std::uint64_t rounds = 2000;
    const int mine = static_cast<int>(k.seed % 100) + 1;
    const std::string name = std::to_string(k.seed);
    bool right = true;
    const std::uint64_t expected = grind(k.seed, rounds);
    do {
        errno = mine;
        try {
            throw std::runtime_error{name};
        } catch (const std::runtime_error&) {
            right = right && grind(k.seed, rounds) == expected && errno == mine;
            try {
                throw;
            } catch (const std::runtime_error& same) {
                right = right && same.what() == name;
            }
        }
        k.turns.fetch_add(1, std::memory_order_relaxed);
    } while (k.stop != nullptr && !k.stop->load(std::memory_order_relaxed));
    k.right.store(right);
}

void allocate(void* of_allocator) noexcept {
    auto& a = *static_cast<allocator*>(of_allocator);
    constexpr int slots = 64;
    unsigned char* held[slots] = {};
    std::size_t sizes[slots] = {};
    bool right = true;
    std::uint64_t x = a.seed;
    char text[64];
    for (std::uint64_t i = 0; i < a.rounds && (a.stop == nullptr || !a.stop->load(std::memory_order_relaxed)); ++i) {
        const auto slot = next(x) % slots;
        if (held[slot] != nullptr) {
            right = right && held[slot][0] == slot && held[slot][sizes[slot] - 1] == slot;
            std::free(held[slot]);
        }
        sizes[slot] = 1 + next(x) % 6000;
        held[slot] = static_cast<unsigned char*>(std::malloc(sizes[slot]));
        held[slot][0] = held[slot][sizes[slot] - 1] = static_cast<unsigned char>(slot);
        right = right && std::snprintf(text, sizeof text, "%llu", static_cast<unsigned long long>(x)) > 0;
        a.turns.fetch_add(1, std::memory_order_relaxed);
    }
    for (unsigned char* h : held) std::free(h);
    a.right.store(right);
}

}  // namespace procedures
