// Procedures that never end by themselves, in ways that differ for the scheduler that terminates them.
#pragma once

#include <atomic>
#include <cstdint>

#include "tutti/tutti.hpp"

namespace procedures {

struct endless_call {
    void (*call_away)() = nullptr;  // code outside of the procedures' own object
    tutti::var<int>* of = nullptr;  // the variable that it reads and writes in transactions
    void (*call_back)() = nullptr;  // like `call_away`, called later
    std::atomic<bool> has_started{false};
    std::atomic<bool> go{false};  // continues with the next step
    std::atomic<bool> passed{false};
    std::atomic<std::uint64_t> turns{0};
    std::atomic<int> terminations{0};  // number of times that it was terminated
};
void on_endless_call_terminated(void* of_endless_call) noexcept;

/// Runs in its own code forever.
void run_endlessly(void* of_endless_call) noexcept;
/// Repeatedly calls `call_away`, and returns for a few instructions.
void call_away_repeatedly(void* of_endless_call) noexcept;
/// Calls `call_away` once, executes a barrier, calls `call_back`, and then runs in its own code forever.
void call_away_and_read(void* of_endless_call) noexcept;
/// Runs forever in an open nested transaction, after it and the outer transaction have written.
void run_endlessly_owning(void* of_endless_call) noexcept;
/// Swallows every exception that should end it.
void swallow_every_exception(void* of_endless_call) noexcept;
/// Runs under a no_preemption_guard until `go` is set, then in its own code forever.
void run_endlessly_unpreempted(void* of_endless_call) noexcept;

}  // namespace procedures
