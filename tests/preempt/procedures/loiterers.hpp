// Procedures that do not end, in the ways that differ for whoever has to end them from outside.
#pragma once

#include <atomic>
#include <cstdint>

#include "tutti/tutti.hpp"

namespace procedures {

struct loiterer {
    void (*away)() = nullptr;       // code that is not the procedures' own
    tutti::var<int>* of = nullptr;  // what it reads and writes in transactions
    void (*back)() = nullptr;       // the same, later
    std::atomic<bool> began{false};
    std::atomic<bool> go{false};  // on to what comes next
    std::atomic<bool> passed{false};
    std::atomic<std::uint64_t> turns{0};
    std::atomic<int> cut{0};  // how often it was cut off
};
void end_loiterer(void* of_loiterer) noexcept;

/// In its own code for ever.
void loiter(void* of_loiterer) noexcept;
/// Away again and again, and back for a few instructions.
void go_away(void* of_loiterer) noexcept;
/// Away once, then at a barrier, then away by `back`, then in its own code for ever.
void go_away_and_read(void* of_loiterer) noexcept;
/// In a transaction inside another's body, both of which have written, for ever.
void loiter_owning(void* of_loiterer) noexcept;
/// Swallows every exception that should end it.
void go_on_whatever_comes(void* of_loiterer) noexcept;
/// Undisturbed until told to go on, then in its own code for ever.
void loiter_undisturbed(void* of_loiterer) noexcept;

}  // namespace procedures
