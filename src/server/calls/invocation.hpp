// Running a procedure and turning all that can come of it into one answer.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "server/calls/catalog.hpp"
#include "server/calls/executor.hpp"
#include "tutti/server/service.hpp"

namespace tutti::server {

/// How a call ended. The names are the codes of errors that clients get, but for `ok`.
enum class ending : std::uint8_t {
    ok,
    busy,
    argument,
    cancelled,
    deadline,
    exception,
    timeout,
    shutdown,
    stack,
    stranded,
    gone
};
inline constexpr std::size_t ending_count = static_cast<std::size_t>(ending::gone) + 1;
[[nodiscard]] std::string_view code_of(ending e) noexcept;

/// What one call is.
struct invocation {
    /// One of several calls that run as one transaction.
    struct part {
        const entry* which;
        std::size_t arguments;
    };

    const entry* which = nullptr;
    call how;
    instant due = no_deadline;
    protocol spoken = protocol::resp2;
    std::vector<part> parts{};  ///< of catalog::together(); their arguments follow each other
};

/// Fills in priority and deadline, in which `chosen` goes before the procedure's own.
/// @throws bad_argument  when a priority or deadline is out of range
void plan(invocation& i, std::optional<int> priority, std::optional<std::chrono::microseconds> deadline,
          instant arrived);

/// Whether the procedure takes so many; otherwise writes the error.
[[nodiscard]] bool takes(const entry& which, std::size_t arguments, reply& to);

/// Runs it on this thread, as `of`. `answer` is empty before and one value after.
[[nodiscard]] ending run(const job& of, const invocation& i, std::span<const std::string_view> arguments,
                         std::string& answer) noexcept;

/// Answers what does not begin, because the server holds too much already.
[[nodiscard]] ending run_refused(const invocation& i, std::string& answer) noexcept;
/// Answers what was given up in the middle of `run`. REQUIRES: `answer` is not the one that `run` was writing.
[[nodiscard]] ending run_over(const invocation& i, std::string& answer) noexcept;
/// The same for what was given up because it did not end when it was interrupted.
[[nodiscard]] ending run_ended(const invocation& i, std::string& answer) noexcept;
/// Answers for one that has not ended although its time limit has passed.
void tell_overdue(const invocation& i, std::string& answer);

/// Answers without running it.
void refuse(ending why, reply& to);

/// How long a call may run; zero: without a limit.
[[nodiscard]] std::chrono::nanoseconds time_limit_of(const invocation& i, const settings& how) noexcept;

}  // namespace tutti::server
