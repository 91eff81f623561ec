// A whole member for a fuzzer: its port, its connections, their handlers, its Raft node and state machine. Its disk is
// in memory, and it is the only member of its group. It works only inside `turn`.
#pragma once

#include <cstdlib>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "cluster/replica/requests.hpp"
#include "cluster/replica/simulated_io.hpp"
#include "cluster/replica/transport.hpp"

namespace tutti::cluster::replica::testing {

inline void demand(bool holds) {
    if (!holds) std::abort();
}

/// No message of a hostile program contains these numbers.
inline constexpr std::uint64_t own_id = 0x9e37'79b9'7f4a'7c15, group_number = 7;

class lone_member final : private network {
public:
    explicit lone_member(std::uint16_t port);
    ~lone_member() override;

    /// Does the pending work of the loop and the disk.
    void turn();
    /// Calls another member, and passes the outcome to `callback` once.
    void call(std::uint64_t whom, std::uint16_t port, std::function<void(int)> callback);
    [[nodiscard]] const state_machine& state() const noexcept { return raft_node_->state(); }
    [[nodiscard]] std::uint64_t connections_rejected() const noexcept { return transport_->connections_rejected(); }

private:
    /// Drops the message, because the group has no other member.
    bool send(raft_id, raft_id, parcel) override { return true; }

    identity who_;
    address_book where_{"/nowhere"};  // always empty
    event_queue events_{1};
    skewed_clock clock_{events_};
    disk stored_;
    simulated_io io_;
    sessions sessions_;
    std::optional<transport> transport_;
    std::optional<raft_node> raft_node_;
    std::optional<requests> requests_;
    event_loop loop_;
};

/// A nonblocking loopback socket that its destructor closes.
class socket_end {
public:
    explicit socket_end(int fd) noexcept : fd_{fd} {}
    socket_end(socket_end&& other) noexcept : fd_{std::exchange(other.fd_, -1)} {}
    socket_end& operator=(socket_end&&) = delete;
    ~socket_end();

    [[nodiscard]] static socket_end listen(std::uint16_t& port);
    [[nodiscard]] static socket_end connect(std::uint16_t port);
    /// Returns the next connection, or nothing if none is pending.
    [[nodiscard]] std::optional<socket_end> accept() const;
    /// Sends bytes, even if the other side has closed the connection.
    void send(std::string_view bytes);
    void send_no_more();
    /// Appends the received bytes. Returns false at the end of the stream.
    [[nodiscard]] bool receive(std::string& all);

private:
    int fd_;
};

}  // namespace tutti::cluster::replica::testing
