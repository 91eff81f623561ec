// Decides which clients have exceeded a time limit. The caller carries out the decision.
#pragma once

#include "server/net/connection.hpp"
#include "tutti/server/settings.hpp"

namespace tutti::server {

/// Returns true if the server should close a client that has exceeded a limit. A limit of zero means no limit. While
/// the server drains, a `write_timeout` of zero counts as ten seconds. A client that reads slowly then has at most six
/// times `write_timeout` to read its last answers.
[[nodiscard]] bool is_timed_out(const connection& c, const settings& how, bool draining, instant now) noexcept;

/// Returns true if the server, while it is ending, must still read from a client that waits for no answer. This is the
/// case if the client has just sent a request, or has just connected, because its next call may be on its way. If the
/// server did not read that call, the call would be lost without an answer. Instead the client gets the error SHUTDOWN,
/// which means that the call had no effect. The server stops reading after that answer, or a short time after its end
/// has begun.
[[nodiscard]] bool may_have_request_in_flight(const connection& c, instant end_began, instant now) noexcept;

}  // namespace tutti::server
