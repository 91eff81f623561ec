// One other node, as its connection is read and written.
#pragma once

#include "wire/sockets.hpp"

namespace tutti::wire {

struct sockets::linked_peer final : peer {
    using peer::peer;

    std::shared_ptr<connection> link;  // set once, by the reading thread, before `open`

    // A thread that finds nobody sending sends; under `guard`.
    std::string in_flight;
    std::size_t in_flight_from = 0;
    bool sending = false;
    bool writing = false;  // uses the socket without `guard`

    [[nodiscard]] stream::socket& socket() const noexcept { return link->socket; }
};

inline sockets::linked_peer& sockets::linked(peer& p) noexcept { return static_cast<linked_peer&>(p); }

}  // namespace tutti::wire
