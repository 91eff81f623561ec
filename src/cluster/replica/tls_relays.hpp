// Connections of members under TLS. C-Raft reads and writes a libuv stream by itself, so C-Raft gets one end of a local
// socket pair. A relay at the other end encrypts the bytes that C-Raft writes, and sends them to the other member. The
// relay decrypts the bytes that arrive from that member, and passes them to C-Raft.
//
//   RLY1  A relay reads from one side only while the other side accepts bytes. So a relay buffers at most
//         `max_pending_bytes` bytes and one read for each direction.
//   RLY2  When one side ends, the relay ends the other side, too. Pending bytes may be lost, as on any broken
//         connection. Raft sends lost messages again.
//
// Not thread-safe: a relay belongs to the loop's thread.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <string>

#include "cluster/replica/identified_connection.hpp"
#include "cluster/replica/raft_loop.hpp"

namespace tutti::cluster::replica {

class tls_relays {
public:
    /// Calls `on_empty` when the last relay has ended.
    tls_relays(uv_loop_t& loop, std::function<void()> on_empty) : loop_{loop}, on_empty_{std::move(on_empty)} {}
    ~tls_relays() = default;  // REQUIRES: there are no relays
    tls_relays(const tls_relays&) = delete;
    tls_relays& operator=(const tls_relays&) = delete;

    /// Adds a relay. Returns the end for C-Raft. C-Raft closes this end, and then calls raft_free for it. Returns
    /// null if memory or file descriptors run out. The relay then closes the connection.
    [[nodiscard]] uv_stream_t* add(identified_connection a);
    void end_all();
    [[nodiscard]] bool empty() const noexcept { return all_.empty(); }

private:
    struct tls_relay;
    struct side;
    bool connect(tls_relay& r, uv_stream_t*& raft_end);
    static void read(side& from);
    static bool forward(side& from, std::string_view came);
    static bool send(side& to, std::string bytes);
    static void end(tls_relay& r);

    uv_loop_t& loop_;
    std::function<void()> on_empty_;
    std::list<std::shared_ptr<tls_relay>> all_;
};

}  // namespace tutti::cluster::replica
