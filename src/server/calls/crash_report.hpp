// Reports two events: a procedure ends the process by a signal that no handler catches, or a procedure cannot be ended.
// The report names the procedure, the number and size of its arguments, and the place in the code.
//
// Thread safety: one thread calls `catch_crashes`, and one thread creates and destroys a `crash_scope`.
#pragma once

#include <algorithm>
#include <chrono>

#include "server/calls/executor.hpp"
#include "tutti/server/settings.hpp"

namespace tutti::server {

/// Installs a permanent handler for SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP and SIGSYS. The handler writes
/// the report to the standard error and then lets the signal have its usual effect. Call this before an executor is
/// made, because the executor may install handlers that must run before this one.
void catch_crashes() noexcept;

class timed_call;

/// Logs that a call exceeds its time limit, and how the user can find out where the call runs.
void report_unstoppable_call(const timed_call& c, std::chrono::nanoseconds limit, const settings& how) noexcept;
/// Logs the same message for a call that has blocked its worker for `time`.
void report_stuck_call(const timed_call& c, std::chrono::nanoseconds time, const settings& how) noexcept;

/// Returns the interval of the checks for calls that have blocked their worker for `time`.
[[nodiscard]] constexpr std::chrono::nanoseconds stuck_check_period(std::chrono::nanoseconds time) noexcept {
    return std::clamp<std::chrono::nanoseconds>(time / 4, std::chrono::milliseconds{10}, std::chrono::seconds{1});
}

/// While an object of this class lives, crash reports name the procedure that the calling thread runs for the executor
/// `of`.
class crash_scope {
public:
    explicit crash_scope(const executor& of) noexcept;
    ~crash_scope();
    crash_scope(const crash_scope&) = delete;
    crash_scope& operator=(const crash_scope&) = delete;
};

}  // namespace tutti::server
