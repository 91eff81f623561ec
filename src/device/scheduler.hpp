// The library's interface to the sched_ext program (kernel/scheduler/scheduler.h).
#pragma once

#include <cstdint>
#include <string>

#include "kernel/scheduler/scheduler.h"

namespace tutti::device {

/// A connection to the scheduler, and the memory that this program shares with the scheduler. The connection lasts as
/// long as its socket is open.
struct scheduler_connection {
    int socket = -1;
    tutti_shared* shared = nullptr;

    /// Connects to the scheduler, and waits at most a second for its answer. On failure, `shared` is null, and
    /// `problem` is the reason, worded as the end of a sentence. Throws std::bad_alloc.
    [[nodiscard]] static scheduler_connection connect(std::string& problem);
    void disconnect() noexcept;
};

/// Acquires a slot, which belongs to the calling thread until the thread releases the slot or ends. Returns the slot's
/// number, or TUTTI_THREADS if all slots that the thread may use are taken.
[[nodiscard]] std::uint32_t acquire_sched_slot(tutti_shared& shared) noexcept;

/// Returns true if `slot` still belongs to the calling thread, so that the scheduler still serves the thread. A
/// scheduler that ends clears all slots.
[[nodiscard]] bool has_sched_slot(tutti_sched_slot& slot) noexcept;

/// Makes a request for the thread that owns the slot. The request is in force until the next one.
void set_request(tutti_sched_slot& slot, tutti_request what) noexcept;

/// Suspends the calling thread until the execution that its entry awaits is over, but at most until `until_ns`
/// (CLOCK_MONOTONIC), and at most for TUTTI_MAX_WAIT_NS.
void wait_in_sched_slot(tutti_sched_slot& slot, std::uint64_t until_ns) noexcept;

/// Ends the calling thread's transaction, after its entry has been marked as over. Wakes the threads that wait for the
/// transaction, and gives back the time beyond the slice. Makes a system call only if one of the two is needed.
void end_transaction(tutti_sched_slot& slot, tutti_transaction& entry) noexcept;

/// Returns true if a scheduler exists, even if this process cannot use the scheduler.
[[nodiscard]] bool scheduler_exists() noexcept;

}  // namespace tutti::device
