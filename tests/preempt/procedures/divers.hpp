// Procedures whose stack overflows in different ways.
#pragma once

#include <atomic>
#include <cstdint>

#include "tutti/tutti.hpp"

namespace procedures {

/// Recurses forever; or, with `floor`, until little room is left above it, and computes there until told to stop.
struct diver {
    tutti::var<int>* of = nullptr;     // the variable that it reads and writes in a transaction
    const char* (*floor)() = nullptr;  // returns the floor of the calling stack
    std::atomic<bool> stop{false};
    std::atomic<std::uint64_t> turns{0};   // turns at the floor
    std::atomic<int> living{0};            // living objects in its frames
    std::atomic<int> ended{0};             // number of normal returns
    std::atomic<int> threw{0};             // number of returns by tutti::out_of_stack
    std::atomic<int> cut{0};               // number of times that it was cut off
    std::atomic<std::uint64_t> undone{0};  // the value that its on_abort handler has read in a frame of its body
};
void cut_off(void* of_diver) noexcept;

/// Recurses outside of transactions, only in its own code.
void dive(void* of_diver) noexcept;
/// Uses one frame larger than the area below a stack.
void dive_at_once(void* of_diver) noexcept;
/// Recurses with a call of the C library in every step.
void dive_allocating(void* of_diver) noexcept;
/// Recurses in a transaction that reads in every step.
void dive_reading(void* of_diver) noexcept;
/// Recurses in a transaction that has written, without further accesses.
void dive_owning(void* of_diver) noexcept;
/// Recurses in an open nested transaction, after it and the outer transaction have written.
void dive_apart(void* of_diver) noexcept;
/// Recurses with the C library between any two steps.
void dive_through_qsort(void* of_diver) noexcept;
/// Recurses to the floor and stops there.
void dive_to_the_floor(void* of_diver) noexcept;
/// Writes to that address.
struct pointer {
    volatile char* to;
    std::atomic<bool> done{false};
};
void write_through(void* of_pointer) noexcept;

inline constexpr std::uint64_t seen_in_frame = 0x5ca1ab1e;

}  // namespace procedures
