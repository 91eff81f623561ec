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

namespace journal {
class journal;
}

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
    gone,
    no_log,
    read_only,
    unsaved,
    unreplicated,
    lost,
    unknown
};
inline constexpr std::size_t ending_count = static_cast<std::size_t>(ending::unknown) + 1;
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

/// How a call is logged.
struct logging {
    journal::journal* log = nullptr;   ///< null: it is not
    std::string_view key{};            ///< of CALL ID; empty: none
    std::uint64_t key_stands_for = 0;  ///< for which call
    std::uint64_t awaits = 0;          ///< the position after its own, once it has run; 0: it has none
};

/// Fills in priority and deadline, in which `chosen` goes before the procedure's own.
/// @throws bad_argument  when a priority or deadline is out of range
void plan(invocation& i, std::optional<int> priority, std::optional<std::chrono::microseconds> deadline,
          instant arrived);

/// Whether the procedure takes so many; otherwise writes the error.
[[nodiscard]] bool takes(const entry& which, std::size_t arguments, reply& to);

/// Runs it on this thread, as `of`. `answer` is empty before and one value after.
[[nodiscard]] ending run(const job& of, const invocation& i, std::span<const std::string_view> arguments,
                         std::string& answer, logging& logged) noexcept;

/// Runs again what a log holds: as one transaction, which nothing that happens now may end in another way. `answer` is
/// what it answers. @throws std::runtime_error  it did not commit; the message says how it ended
void run_again(const invocation& i, const call& how, std::span<const std::string_view> arguments, std::string& answer);

/// Whether it promises to write nothing.
[[nodiscard]] bool only_reads(const invocation& i) noexcept;

/// Answers what does not begin; returns `why`.
[[nodiscard]] ending run_refused(const invocation& i, ending why, std::string& answer) noexcept;
/// Answers what was given up in the middle of `run`. REQUIRES: `answer` is not the one that `run` was writing.
[[nodiscard]] ending run_over(const invocation& i, std::string& answer) noexcept;
/// The same for what was given up because it did not end when it was interrupted.
[[nodiscard]] ending run_ended(const invocation& i, std::string& answer) noexcept;
/// Answers, in place of what it answered, what has run and may not outlive the server.
[[nodiscard]] ending run_unsaved(const invocation& i, const std::string& why, std::string& answer) noexcept;
/// The same for what too few followers have.
[[nodiscard]] ending run_unreplicated(const invocation& i, std::string& answer) noexcept;
/// Answers for one that has not ended although its time limit has passed.
void tell_overdue(const invocation& i, std::string& answer);

/// Answers without running it.
void refuse(ending why, reply& to);

/// How long a call may run; zero: without a limit.
[[nodiscard]] std::chrono::nanoseconds time_limit_of(const invocation& i, const settings& how) noexcept;

}  // namespace tutti::server
