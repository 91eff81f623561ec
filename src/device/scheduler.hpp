// The library's side of the sched_ext program (kernel/scheduler/scheduler.h), for all who use it.
#pragma once

#include <cstdint>
#include <string>

#include "kernel/scheduler/scheduler.h"

namespace tutti::device {

/// A connection to the scheduler, which lasts as long as its socket is open; and what this program shares with it.
struct scheduler {
    int socket = -1;
    tutti_shared* shared = nullptr;

    /// Shared is null, and `problem` says why as the end of a sentence, where there is none. Waits for its answer no
    /// longer than a second. Throws std::bad_alloc.
    [[nodiscard]] static scheduler connect(std::string& problem);
    void disconnect() noexcept;
};

/// The calling thread's seat from now on, until it gives it back or ends: its number, or TUTTI_THREADS if those that it
/// might take are taken.
[[nodiscard]] std::uint32_t take_seat(tutti_shared& shared) noexcept;

/// Whether the scheduler serves the calling thread, whose seat was that one: it leaves nobody's seat behind as it goes.
[[nodiscard]] bool is_seated(tutti_seat& seat) noexcept;

/// What the thread of that seat asks for until it asks for something else.
void ask(tutti_seat& seat, tutti_request what) noexcept;

/// The calling thread leaves the processor until what its entry awaits is over, or until then (CLOCK_MONOTONIC), or for
/// TUTTI_LONGEST_WAIT_NS.
void wait_in_seat(tutti_seat& seat, std::uint64_t until_ns) noexcept;

/// The calling thread's transaction is over, as its entry says: wakes those that wait for it, and pays back what it was
/// given beyond its slice. A system call where there is something to do, else none.
void leave_transaction(tutti_seat& seat, tutti_transaction& entry) noexcept;

/// Whether there is a scheduler to connect to, whatever is wrong with it.
[[nodiscard]] bool scheduler_exists() noexcept;

}  // namespace tutti::device
