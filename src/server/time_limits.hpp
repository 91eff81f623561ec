// Whose time is up: clients that do nothing, and calls that run for too long. Decisions only; the caller carries them
// out.
#pragma once

#include "server/connection.hpp"
#include "tutti/server/service.hpp"

namespace tutti::server {

/// Whether a client is to be closed for what it leaves undone. With `draining` a limit of zero, which otherwise means
/// none, is ten seconds where the end of the server waits for it; and a client that reads, but slowly, has six times
/// that limit for its last answers.
[[nodiscard]] bool overdue(const connection& c, const settings& how, bool draining, instant now) noexcept;

/// How long a call may run; zero: without a limit.
[[nodiscard]] std::chrono::nanoseconds time_limit_of(const invocation& i, const settings& how) noexcept;

}  // namespace tutti::server
