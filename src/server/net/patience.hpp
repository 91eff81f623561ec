// Whose time is up of the clients. A decision only; the caller carries it out.
#pragma once

#include "server/net/connection.hpp"
#include "tutti/server/service.hpp"

namespace tutti::server {

/// Whether a client is to be closed for what it leaves undone. With `draining` a limit of zero, which otherwise means
/// none, is ten seconds where the end of the server waits for it; and a client that reads, but slowly, has six times
/// that limit for its last answers.
[[nodiscard]] bool overdue(const connection& c, const settings& how, bool draining, instant now) noexcept;

/// While the server ends: whether a client that waits for no answer is still read from. It asked a moment ago, or came,
/// so that its next call may be on its way, and would be lost without an answer where SHUTDOWN says that it had no
/// effect. Once it has been told so, and when the end has lasted for as long, it is not.
[[nodiscard]] bool may_be_asking(const connection& c, instant end_began, instant now) noexcept;

}  // namespace tutti::server
