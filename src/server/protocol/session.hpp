// The server's knowledge about a client, except for the client's input and output.
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
    bool is_trusted = false;               ///< the client needs no further AUTH
    account* login = nullptr;              ///< null: no user, which means all rights
    std::shared_ptr<principal> owner{};    ///< principal that is charged for the client's memory and processor time
    bool has_follower_credential = false;  ///< the client has shown the credential of followers
    /// the client's login is being checked; until the check ends, the server reads nothing from the client
    bool awaits_password_check = false;
    const login_claim* checked_login =
        nullptr;  ///< set while the login that the password verifier has checked is answered
    protocol spoken = protocol::resp2;
    client_directory::client_entry* entry = nullptr;
    const server::procedure_entry* latest_procedure =
        nullptr;                         ///< the latest procedure that the client called, probably also the next one
    unsigned failed_logins = 0;          ///< failed logins that are not counted yet
    bool replies_off = false;            ///< the client wants no answers
    bool skips_next_reply = false;       ///< the client wants no answer to its next request
    std::optional<multi> queued;         ///< set between MULTI and EXEC
    std::uint64_t written_position = 0;  ///< the position after the latest logged call of this client
    bool is_follower = false;            ///< the client is a server that follows this server
    bool quit = false;
};

}  // namespace tutti::server
