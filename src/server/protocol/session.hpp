// The server's knowledge of a client, apart from its bytes.
#pragma once

#include <memory>
#include <optional>

#include "server/calls/catalog.hpp"
#include "server/protocol/client_directory.hpp"
#include "server/protocol/multi.hpp"
#include "server/protocol/principal.hpp"
#include "tutti/server/reply.hpp"

namespace tutti::server {

class account;
struct login_claim;

/// The state of one client's session.
struct session {
    bool trusted = false;                ///< needs no further AUTH
    account* as = nullptr;               ///< null: no user, which means all rights
    std::shared_ptr<principal> owner{};  ///< principal that pays for its memory and attention
    bool replicates = false;             ///< it has shown the credential of followers
    /// its login is being checked; the server reads nothing from the client until then
    bool at_door = false;
    const login_claim* seen = nullptr;  ///< set while the login that the doorkeeper has checked is answered
    protocol spoken = protocol::resp2;
    client_directory::entry* entry = nullptr;
    const server::entry* called = nullptr;  ///< its latest procedure, which is probably the next one, too
    unsigned failed_logins = 0;             ///< those not yet counted
    bool replies_off = false;               ///< the client wants no answers
    bool skips_next = false;                ///< the client wants no answer to its next request
    std::optional<multi> queued;            ///< set between MULTI and EXEC
    std::uint64_t written = 0;              ///< the position after the latest logged call of this client
    bool follows = false;                   ///< it is another server, which follows this one
    bool quit = false;
};

}  // namespace tutti::server
