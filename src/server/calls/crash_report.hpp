// What is said when a procedure ends the process by a signal that no handler catches, or cannot be ended itself: which
// one, with how much, and where.
//
// Thread safety: `catch_crashes` and the life of a `crash_witness` by one thread.
#pragma once

#include <algorithm>
#include <chrono>

#include "server/calls/executor.hpp"
#include "tutti/server/service.hpp"

namespace tutti::server {

/// Puts a handler before the usual end of SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP and SIGSYS, for good. It
/// writes what it knows to the standard error and lets the signal do its work. Call it before an executor is made,
/// which may put handlers of its own before this one.
void catch_crashes() noexcept;

class timed_call;

/// Tells the operator (settings::notice) that a call runs on past its limit, and how to see where.
void tell_of_stuck(const timed_call& c, std::chrono::nanoseconds limit, const settings& how) noexcept;
/// The same of one that has kept its worker for that long.
void tell_of_kept_worker(const timed_call& c, std::chrono::nanoseconds time, const settings& how) noexcept;

/// How often to look for calls that have kept their worker for so long.
[[nodiscard]] constexpr std::chrono::nanoseconds look_for_kept_every(std::chrono::nanoseconds time) noexcept {
    return std::clamp<std::chrono::nanoseconds>(time / 4, std::chrono::milliseconds{10}, std::chrono::seconds{1});
}

/// While it lives, crashes are told with what the calling thread runs for `of`.
class crash_witness {
public:
    explicit crash_witness(const executor& of) noexcept;
    ~crash_witness();
    crash_witness(const crash_witness&) = delete;
    crash_witness& operator=(const crash_witness&) = delete;
};

}  // namespace tutti::server
