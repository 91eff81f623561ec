// Procedures whose stack overflows in different ways.
#pragma once

#include <atomic>
#include <cstdint>

#include "tutti/tutti.hpp"

namespace procedures {

/// Recurses forever; or, with `floor`, until little room is left above it, and computes there until `stop` is set.
struct deep_stack {
    tutti::var<int>* of = nullptr;     // the variable that it reads and writes in a transaction
    const char* (*floor)() = nullptr;  // returns the floor of the calling stack
    std::atomic<bool> stop{false};
    std::atomic<std::uint64_t> turns{0};   // rounds of its loop at the floor
    std::atomic<int> live_objects{0};      // living objects in its frames
    std::atomic<int> ended{0};             // number of normal returns
    std::atomic<int> threw{0};             // number of returns by tutti::stack_overflow_error
    std::atomic<int> terminations{0};      // number of times that it was terminated
    std::atomic<std::uint64_t> undone{0};  // the value that its on_abort handler has read in a frame of its body
};
void on_termination(void* of_deep_stack) noexcept;

/// Recurses outside of transactions, only in its own code.
void recurse(void* of_deep_stack) noexcept;
/// Uses one frame larger than the area below a stack.
void use_one_large_frame(void* of_deep_stack) noexcept;
/// Recurses with a call of the C library in every step.
void recurse_allocating(void* of_deep_stack) noexcept;
/// Recurses in a transaction that reads in every step.
void recurse_reading(void* of_deep_stack) noexcept;
/// Recurses in a transaction that has written, without further accesses.
void recurse_owning(void* of_deep_stack) noexcept;
/// Recurses in an open nested transaction, after it and the outer transaction have written.
void recurse_open_nested(void* of_deep_stack) noexcept;
/// Recurses with the C library between any two steps.
void recurse_through_qsort(void* of_deep_stack) noexcept;
/// Recurses to the floor and stops there.
void recurse_to_the_floor(void* of_deep_stack) noexcept;
/// Writes to that address.
struct pointer {
    volatile char* to;
    std::atomic<bool> done{false};
};
void write_through(void* of_pointer) noexcept;

inline constexpr std::uint64_t seen_in_frame = 0x5ca1ab1e;

}  // namespace procedures
