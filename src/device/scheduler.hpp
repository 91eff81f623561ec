// The library's side of the sched_ext program (kernel/scheduler/scheduler.h), for all its users.
#pragma once

#include <cstdint>
#include <string>

#include "kernel/scheduler/scheduler.h"

namespace tutti::device {

/// A connection to the scheduler, which lasts as long as its socket is open, and the memory that this program shares
/// with the scheduler.
struct scheduler_connection {
    int socket = -1;
    tutti_shared* shared = nullptr;

    /// Connects to the scheduler. If that fails, `shared` is null, and `problem` says why, as the end of a sentence.
    /// Waits at most a second for an answer. Throws std::bad_alloc.
    [[nodiscard]] static scheduler_connection connect(std::string& problem);
    void disconnect() noexcept;
};

/// Acquires a slot for the calling thread, which keeps the slot until it releases it or ends. Returns the slot's
/// number, or TUTTI_THREADS if all slots that the thread may take are taken.
[[nodiscard]] std::uint32_t acquire_sched_slot(tutti_shared& shared) noexcept;

/// Returns true if the scheduler still serves the calling thread, whose slot that was: a scheduler that ends clears all
/// slots.
[[nodiscard]] bool has_sched_slot(tutti_sched_slot& slot) noexcept;

/// Makes a request for the thread of that slot, which stays in force until the next request.
void set_request(tutti_sched_slot& slot, tutti_request what) noexcept;

/// Makes the calling thread leave the processor until the execution that its entry awaits is over, or until then
/// (CLOCK_MONOTONIC), or for TUTTI_MAX_WAIT_NS.
void wait_in_sched_slot(tutti_sched_slot& slot, std::uint64_t until_ns) noexcept;

/// Ends the calling thread's transaction, which its entry shows as over: wakes the threads that wait for it, and gives
/// back the time beyond its slice. Makes a system call only if one of these is needed.
void end_transaction(tutti_sched_slot& slot, tutti_transaction& entry) noexcept;

/// Returns true if there is a scheduler to connect to, even if it cannot be used.
[[nodiscard]] bool scheduler_exists() noexcept;

}  // namespace tutti::device
