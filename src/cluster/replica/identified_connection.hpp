// A connection whose hello has been accepted. The transport passes it to a session or to C-Raft.
#pragma once

#include <memory>
#include <string>

#include <uv.h>

#include "wire/tls.hpp"

namespace tutti::cluster::replica {

struct identified_connection {
    uv_tcp_t* socket = nullptr;              ///< its owner closes it, and then calls raft_free for it
    std::unique_ptr<wire::tls_session> tls;  ///< null: in the clear
    std::string input;                       ///< plain bytes that have arrived already
    bool has_member_rights = true;           ///< may admit and remove members: its certificate is that of a member,
                                             ///< or the connection is in the clear
};

}  // namespace tutti::cluster::replica
