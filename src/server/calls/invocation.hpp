// Runs a procedure and turns every possible outcome into one answer.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "server/calls/catalog.hpp"
#include "server/calls/executor.hpp"
#include "tutti/server/settings.hpp"

namespace tutti::server {

namespace journal {
class journal;
}

/// How a call ended. The names are the codes of the errors that clients get, except for `ok`.
enum class call_outcome : std::uint8_t {
    ok,
    busy,
    argument,
    cancelled,
    deadline,
    exception,
    timeout,
    shutdown,
    stack_overflow,
    stranded,
    client_gone,
    misconf,
    read_only,
    unsaved,
    unreplicated,
    unreachable,
    outcome_unknown
};
inline constexpr std::size_t call_outcome_count = static_cast<std::size_t>(call_outcome::outcome_unknown) + 1;
[[nodiscard]] std::string_view code_of(call_outcome e) noexcept;

/// Describes one call.
struct invocation {
    /// One of several calls that run as one transaction.
    struct queued_call {
        const procedure_entry* entry;
        std::size_t arguments;
    };

    const procedure_entry* entry = nullptr;
    call how;
    instant due = no_deadline;
    protocol spoken = protocol::resp2;
    std::vector<queued_call> queued_calls{};  ///< only for catalog::exec_entry(); their arguments follow each other
};

/// The data with which a call is logged.
struct log_context {
    journal::journal* log = nullptr;     ///< null: the call is not logged
    std::string_view key{};              ///< the ID that the client gave (CALL ID); empty: no ID
    std::uint64_t key_call = 0;          ///< checksum that identifies the call of this key
    std::uint64_t awaited_position = 0;  ///< position after the call's own, once the call has run; 0: no position
};

/// Sets priority and deadline. The values that the client chose take precedence over the procedure's own. @throws
/// bad_argument  if a priority or deadline is out of range
void set_priority_and_deadline(invocation& i, std::optional<int> priority,
                               std::optional<std::chrono::microseconds> deadline, instant arrived);

/// Returns true if the procedure accepts the call's number of arguments. Otherwise writes the error and returns false.
[[nodiscard]] bool accepts_arguments(const procedure_entry& which, std::size_t arguments, reply& to);

/// Runs the call on this thread, as the job `of`. `answer` must be empty, and holds one value afterwards.
[[nodiscard]] call_outcome run(const job& of, const invocation& i, std::span<const std::string_view> arguments,
                               std::string& answer, log_context& logged) noexcept;

/// Runs a call from a log again, as one transaction without a deadline, so that the outcome does not depend on the
/// current time. `answer` receives the answer. @throws std::runtime_error  if the transaction did not commit; the
/// message says how it ended
void run_again(const invocation& i, const call& how, std::span<const std::string_view> arguments, std::string& answer);

/// Returns true if the call promises to write nothing.
[[nodiscard]] bool is_read_only(const invocation& i) noexcept;

/// Writes the answer of a call that was refused before it began. Returns `why`.
[[nodiscard]] call_outcome answer_refused(const invocation& i, call_outcome why, std::string& answer) noexcept;
/// Writes the answer of a call that was terminated in the middle of `run`. REQUIRES: `answer` is not the one that `run`
/// was writing.
[[nodiscard]] call_outcome answer_stack_overflow(const invocation& i, std::string& answer) noexcept;
/// Writes the answer of a call that was terminated because interrupting it had no effect.
[[nodiscard]] call_outcome answer_terminated(const invocation& i, std::string& answer) noexcept;
/// Replaces the answer of a call that has run, but whose effects or reads may be lost in a crash.
[[nodiscard]] call_outcome answer_unsaved(const invocation& i, const std::string& why, std::string& answer) noexcept;
/// Replaces the answer of a call that too few followers have stored.
[[nodiscard]] call_outcome answer_unreplicated(const invocation& i, std::string& answer) noexcept;
/// Writes the answer of a call that has not ended although its time limit has passed.
void write_overdue_error(const invocation& i, std::string& answer);

/// Writes the error for a call that is refused for the reason `why`.
void write_refusal(call_outcome why, reply& to);

/// Returns how long a call may run; zero: there is no limit.
[[nodiscard]] std::chrono::nanoseconds time_limit_of(const invocation& i, const settings& how) noexcept;

}  // namespace tutti::server
