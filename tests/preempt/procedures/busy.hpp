// Procedures that keep a worker busy in application code.
#pragma once

#include <atomic>
#include <cstdint>

namespace procedures {

/// Computes until `stop` is set, and counts the rounds of its loop.
struct spinner {
    std::atomic<bool> started{false};
    std::atomic<bool> stop{false};
    std::atomic<std::uint64_t> turns{0};
};
void spin(void* of_spinner) noexcept;

/// Records that it ran, and in which order.
struct marker {
    std::atomic<int>* clock;
    std::atomic<int> at{0};
};
void mark(void* of_marker) noexcept;

/// Keeps values in integer and vector registers, in the red zone, in errno and in the handled exception, repeatedly
/// until `stop` is set. Reports whether all values stayed correct.
struct keeper {
    std::atomic<bool>* stop;  // null: does it once
    std::uint64_t seed;
    std::atomic<std::uint64_t> turns{0};
    std::atomic<bool> right{false};
};
void keep(void* of_keeper) noexcept;

/// Allocates and frees blocks of many sizes until `stop` is set.
struct allocator {
    std::atomic<bool>* stop;
    std::uint64_t seed;
    std::uint64_t rounds;
    std::atomic<bool> right{false};
    std::atomic<std::uint64_t> turns{0};
};
void allocate(void* of_allocator) noexcept;

}  // namespace procedures
