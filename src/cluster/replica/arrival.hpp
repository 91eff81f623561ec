// A connection whose hello has been accepted, on its way from the transport to its session, or to C-Raft.
#pragma once

#include <memory>
#include <string>

#include <uv.h>

#include "wire/tls.hpp"

namespace tutti::cluster::replica {

struct arrival {
    uv_tcp_t* socket = nullptr;              ///< its owner closes it, and then `raft_free`s it
    std::unique_ptr<wire::tls_session> tls;  ///< null: in the clear
    std::string input;                       ///< has come already, in the clear
    bool as_member = true;                   ///< may do what a member may: its certificate says so, or there is none
};

}  // namespace tutti::cluster::replica
