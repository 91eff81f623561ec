// One other node, as its connection is read and written.
#pragma once

#include "wire/sockets.hpp"

namespace tutti::wire {

struct sockets::linked_peer final : peer {
    using peer::peer;

    // Set once, by the reading thread, before `open`; null once it is lost. Under `guard`, but for that thread's looks.
    std::shared_ptr<connection> link;

    // A thread that finds nobody sending sends; under `guard`.
    std::string in_flight;
    std::size_t in_flight_from = 0;
    bool sending = false;
};

inline sockets::linked_peer& sockets::linked(peer& p) noexcept { return static_cast<linked_peer&>(p); }

}  // namespace tutti::wire
