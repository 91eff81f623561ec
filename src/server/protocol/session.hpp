// What the server knows of a client beyond its bytes.
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

/// What a client has said of itself.
struct session {
    bool trusted = false;                ///< needs no AUTH any more
    account* as = nullptr;               ///< null: nobody in particular, who may ask for everything
    std::shared_ptr<principal> owner{};  ///< whom its memory and attention count for
    bool replicates = false;             ///< it has shown the credential of followers
    bool at_door = false;                ///< its login is being looked at; until then nothing of it is
    const login_claim* seen = nullptr;   ///< while the login that the doorkeeper has seen is answered
    protocol spoken = protocol::resp2;
    client_directory::entry* entry = nullptr;
    const server::entry* called = nullptr;  ///< the latest procedure; most likely the next one
    unsigned failed_logins = 0;             ///< that are not counted yet
    bool replies_off = false;               ///< it wants no answers
    bool skips_next = false;                ///< nor one to its next request
    std::optional<multi> queued;            ///< since MULTI
    std::uint64_t written = 0;              ///< the position after the latest in the log that its calls have
    bool follows = false;                   ///< it is another server, which has asked for what comes after its log
    bool quit = false;
};

}  // namespace tutti::server
