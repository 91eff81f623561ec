// Connections of members under TLS. C-Raft reads and writes a stream of libuv by itself: it gets one end of a pair of
// local sockets. What it writes there is sealed and goes to the other member, and what comes from there is opened and
// goes to C-Raft.
//
//   R1  A relay reads from one side only while the other takes it: no direction keeps more than `most_kept` and one
//       read.
//   R2  Where one side ends, the other is ended, too. What was under way may be lost, as on any connection that breaks;
//       Raft sends it again.
//
// Thread safety: none; the loop's thread.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <string>

#include "cluster/replica/arrival.hpp"
#include "cluster/replica/raft_loop.hpp"

namespace tutti::cluster::replica {

class relays {
public:
    /// `emptied` is called when the last one has gone.
    relays(uv_loop_t& loop, std::function<void()> emptied) : loop_{loop}, emptied_{std::move(emptied)} {}
    ~relays() = default;  // REQUIRES: none is left
    relays(const relays&) = delete;
    relays& operator=(const relays&) = delete;

    /// The end for C-Raft, which closes it and then `raft_free`s it. Null: there is no memory, or no descriptor, and
    /// the connection is being closed.
    [[nodiscard]] uv_stream_t* add(arrival a);
    void end_all();
    [[nodiscard]] bool empty() const noexcept { return all_.empty(); }

private:
    struct relay;
    struct side;
    bool connect(relay& r, uv_stream_t*& raft_end);
    static void read(side& from);
    static bool pass(side& from, std::string_view came);
    static bool send(side& to, std::string bytes);
    static void end(relay& r);

    uv_loop_t& loop_;
    std::function<void()> emptied_;
    std::list<std::shared_ptr<relay>> all_;
};

}  // namespace tutti::cluster::replica
