// The state of the connection to one other node over ZeroMQ.
#pragma once

#include <atomic>
#include <chrono>
#include <optional>

#include "wire/zeromq_transport.hpp"

namespace tutti::wire {

struct zeromq_transport::called_peer final : peer {
    using peer::peer;

    // Guarded by `guard` once the peer is open. Before that, only the reading thread uses these members.
    zmq_socket out;             // null: the node is lost, or not called now
    std::size_t sent_from = 0;  // position in `output`: libzmq has all bytes before it

    std::atomic<bool> stuck{false};   // libzmq's queue is full: the reading thread waits for room
    std::atomic<bool> to_end{false};  // any thread may set this

    // Only the reading thread uses these members:
    zmq_monitor of_out;                         // while the peer joins
    std::optional<std::uint64_t> answered_by;   // the process that has answered this node's hello
    std::chrono::steady_clock::time_point due;  // when the next call, or the end of an unanswered one, is due
    header hello;                               // the hello that the peer has sent
    std::optional<connection_number> calls;     // the connection over which the peer has sent a valid hello
    bool is_former = false;                     // the peer's process was connected, and is lost
};

/// The maximum number of bytes in one message of ZeroMQ.
inline constexpr std::size_t max_zeromq_message_bytes = std::size_t{64} * 1024;
/// The size of the routing id that libzmq gives to a connecting peer: a zero byte, and a number.
inline constexpr std::size_t connection_name_bytes = 1 + sizeof(std::uint32_t);

/// Sets the limits of a socket.
/// REQUIRES: the socket is neither bound nor connected yet.
inline void set_limits(zmq_socket& s) {
    constexpr int max_kept = 256;                // messages of one direction, on either side
    constexpr std::int64_t beside_bytes = 1024;  // more than CURVE and libzmq's own commands add
    s.set(ZMQ_SNDHWM, max_kept);
    s.set(ZMQ_RCVHWM, max_kept);
    s.set(ZMQ_IPV6, 1);
    s.set(ZMQ_MAXMSGSIZE, std::int64_t{max_zeromq_message_bytes} + beside_bytes);
}

/// Limits a socket to one connection. The socket's bytes are sent over that connection, or not at all. The socket never
/// connects again.
inline void limit_to_one_call(zmq_socket& s) {
    set_limits(s);
    s.set(ZMQ_IMMEDIATE, 1);
    s.set(ZMQ_RECONNECT_IVL, -1);
}
/// The events that report the result of a call.
inline constexpr int call_result_events = ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_HANDSHAKE_FAILED_AUTH |
                                          ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL | ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL |
                                          ZMQ_EVENT_DISCONNECTED | ZMQ_EVENT_CLOSED;

inline std::string endpoint_of(const address& a) {
    const asio::ip::tcp::endpoint at = parse_tcp(a.text.substr(a.text.find(':') + 1));
    const std::string host = at.address().to_string();
    return "tcp://" + (at.address().is_v6() ? "[" + host + "]" : host) + ":" + std::to_string(at.port());
}

inline std::string_view text_of(const curve_key& k) noexcept {
    return {reinterpret_cast<const char*>(k.data()), k.size()};
}

/// Sets the keys of a socket that calls a node.
inline void encrypt(zmq_socket& s, const curve_keys& keys, node_number called) {
    s.set(ZMQ_CURVE_SERVERKEY, text_of(keys.nodes[called]));
    s.set(ZMQ_CURVE_PUBLICKEY, text_of(keys.nodes[keys.own]));
    s.set(ZMQ_CURVE_SECRETKEY, text_of(keys.secret));
}

inline zeromq_transport::called_peer& zeromq_transport::as_called_peer(peer& p) noexcept {
    return static_cast<called_peer&>(p);
}

}  // namespace tutti::wire
