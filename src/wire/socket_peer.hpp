// The state for reading and writing the connection of one other node.
#pragma once

#include "wire/socket_transport.hpp"

namespace tutti::wire {

struct socket_transport::socket_peer final : peer {
    using peer::peer;

    // Set once, by the reading thread, before `open`; null once the node is lost. Guarded by `guard`, but the reading
    // thread may read it without the lock.
    std::shared_ptr<connection> current_connection;

    // Guarded by `guard`. A thread that finds `sending` false sets it, and sends the output of all threads.
    std::string in_flight;
    std::size_t in_flight_from = 0;
    bool sending = false;
};

inline socket_transport::socket_peer& socket_transport::as_socket_peer(peer& p) noexcept {
    return static_cast<socket_peer&>(p);
}

}  // namespace tutti::wire
