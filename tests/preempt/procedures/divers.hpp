// Procedures whose stack does not suffice, in the ways that differ.
#pragma once

#include <atomic>
#include <cstdint>

#include "tutti/tutti.hpp"

namespace procedures {

/// Recurses for ever, or, with `floor`, until so little is left above it, and computes there until told to stop.
struct diver {
    tutti::var<int>* of = nullptr;     // what it reads and writes in a transaction
    const char* (*floor)() = nullptr;  // of the stack that calls it
    std::atomic<bool> stop{false};
    std::atomic<std::uint64_t> turns{0};   // at the floor
    std::atomic<int> living{0};            // objects in its frames
    std::atomic<int> ended{0};             // how often it came back by itself
    std::atomic<int> threw{0};             // or by tutti::out_of_stack
    std::atomic<int> cut{0};               // or was cut off
    std::atomic<std::uint64_t> undone{0};  // what its on_abort handler has seen in a frame of its body
};
void cut_off(void* of_diver) noexcept;

/// Outside of transactions, in its own code only.
void dive(void* of_diver) noexcept;
/// By one frame, of more than all that lies below a stack.
void dive_at_once(void* of_diver) noexcept;
/// With a call of the C library in every step.
void dive_allocating(void* of_diver) noexcept;
/// In a transaction that reads in every step.
void dive_reading(void* of_diver) noexcept;
/// In a transaction that has written and makes no access afterwards.
void dive_owning(void* of_diver) noexcept;
/// In a transaction inside another's body (open nesting), both of which have written.
void dive_apart(void* of_diver) noexcept;
/// With the C library between any two steps.
void dive_through_qsort(void* of_diver) noexcept;
/// To the floor and no further.
void dive_to_the_floor(void* of_diver) noexcept;
/// Writes to that address.
struct pointer {
    volatile char* to;
    std::atomic<bool> done{false};
};
void write_through(void* of_pointer) noexcept;

inline constexpr std::uint64_t seen_in_frame = 0x5ca1ab1e;

}  // namespace procedures
