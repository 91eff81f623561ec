// Procedures that never end by themselves, in ways that differ for the scheduler that ends them.
#pragma once

#include <atomic>
#include <cstdint>

#include "tutti/tutti.hpp"

namespace procedures {

struct loiterer {
    void (*away)() = nullptr;       // code outside of the procedures' own object
    tutti::var<int>* of = nullptr;  // the variable that it reads and writes in transactions
    void (*back)() = nullptr;       // like `away`, called later
    std::atomic<bool> began{false};
    std::atomic<bool> go{false};  // continues with the next step
    std::atomic<bool> passed{false};
    std::atomic<std::uint64_t> turns{0};
    std::atomic<int> cut{0};  // number of times that it was cut off
};
void end_loiterer(void* of_loiterer) noexcept;

/// Runs in its own code forever.
void loiter(void* of_loiterer) noexcept;
/// Repeatedly calls `away`, and returns for a few instructions.
void go_away(void* of_loiterer) noexcept;
/// Calls `away` once, executes a barrier, calls `back`, and then runs in its own code forever.
void go_away_and_read(void* of_loiterer) noexcept;
/// Runs forever in an open nested transaction, after it and the outer transaction have written.
void loiter_owning(void* of_loiterer) noexcept;
/// Swallows every exception that should end it.
void go_on_whatever_comes(void* of_loiterer) noexcept;
/// Runs undisturbed until told to continue, then in its own code forever.
void loiter_undisturbed(void* of_loiterer) noexcept;

}  // namespace procedures
