// Decides which clients have exceeded a time limit. The caller carries out the decision.
#pragma once

#include "server/net/connection.hpp"
#include "tutti/server/settings.hpp"

namespace tutti::server {

/// Returns true if the server should close a client that has exceeded a limit. A limit of zero means no limit. With
/// `draining`, a limit of zero is ten seconds where the end of the server waits for the client. A client that reads
/// slowly has six times that limit for its last answers.
[[nodiscard]] bool is_timed_out(const connection& c, const settings& how, bool draining, instant now) noexcept;

/// Returns true if, while the server ends, the server still reads from a client that waits for no answer. The client
/// has just sent a request, or has just connected, so its next call may be on its way. If the server did not read that
/// call, the call would be lost without an answer. Instead the client gets the error SHUTDOWN: the call had no effect.
/// The server stops reading after that answer, and also when the end has lasted for as long.
[[nodiscard]] bool may_have_request_in_flight(const connection& c, instant end_began, instant now) noexcept;

}  // namespace tutti::server
