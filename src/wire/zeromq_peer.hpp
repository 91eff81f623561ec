// One other node, as ZeroMQ reaches it.
#pragma once

#include <atomic>
#include <chrono>
#include <optional>

#include "wire/zeromq.hpp"

namespace tutti::wire {

struct zeromq::called_peer final : peer {
    using peer::peer;

    // Under `guard` once it is open, of the reading thread before.
    zmq_socket out;             // null: it is gone, or not called now
    std::size_t sent_from = 0;  // of `output`: what is before it is with libzmq

    std::atomic<bool> stuck{false};   // libzmq has no room for it: the reading thread waits for some
    std::atomic<bool> to_end{false};  // asked for by any thread

    // Of the reading thread.
    zmq_monitor of_out;                         // while it joins
    std::optional<std::uint64_t> answered_by;   // the process that has answered our hello
    std::chrono::steady_clock::time_point due;  // of the next call, or of the end of one that is not answered
    header hello;                               // that it has said
    std::optional<caller_number> calls;         // has said a good hello over that connection
    bool is_former = false;                     // its process was connected, and is lost
};

/// Bytes of one message of ZeroMQ.
inline constexpr std::size_t most_of_message = std::size_t{64} * 1024;
/// Of those that libzmq makes up itself: a zero, and the number.
inline constexpr std::size_t size_of_caller = 1 + sizeof(std::uint32_t);

/// Of a socket that is neither bound nor connected yet.
inline void set_limits(zmq_socket& s) {
    constexpr int most_kept = 256;               // messages of one direction, on either side
    constexpr std::int64_t beside_bytes = 1024;  // what CURVE and libzmq's own commands add, and more
    s.set(ZMQ_SNDHWM, most_kept);
    s.set(ZMQ_RCVHWM, most_kept);
    s.set(ZMQ_IPV6, 1);
    s.set(ZMQ_MAXMSGSIZE, std::int64_t{most_of_message} + beside_bytes);
}

/// Of one that makes one call: what is sent goes over that connection, or not at all, and there is no other one.
inline void limit_to_one_call(zmq_socket& s) {
    set_limits(s);
    s.set(ZMQ_IMMEDIATE, 1);
    s.set(ZMQ_RECONNECT_IVL, -1);
}
/// Events that say what becomes of a call.
inline constexpr int outcomes_of_call = ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_HANDSHAKE_FAILED_AUTH |
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

/// Of one that calls a node.
inline void encrypt(zmq_socket& s, const curve_keys& keys, node_number called) {
    s.set(ZMQ_CURVE_SERVERKEY, text_of(keys.nodes[called]));
    s.set(ZMQ_CURVE_PUBLICKEY, text_of(keys.nodes[keys.own]));
    s.set(ZMQ_CURVE_SECRETKEY, text_of(keys.secret));
}

inline zeromq::called_peer& zeromq::called(peer& p) noexcept { return static_cast<called_peer&>(p); }

}  // namespace tutti::wire
