// Sends frames over ZeroMQ (libzmq), as HyflowCPP sent its messages, so that Tutti and HyflowCPP can be compared. The
// transport is TCP with the hellos, limits and disconnections of socket_transport.hpp, and with libzmq's thread in
// between.
//
// *A ROUTER receives, and a DEALER for each other node sends*, as in ZRE (RFC 36 of ZeroMQ, Hintjens). Two threads must
// not use a socket of libzmq at the same time, so each socket has one owner at a time. The reading thread owns the
// ROUTER, which reports the connection of each message. A thread that sends to a node owns that node's DEALER while it
// holds the node's lock. So the sending thread does not have to wake another thread, and notices when the queue is
// full. PAIR would need a port for each node, and PUSH does not report the sender.
//
// *A DEALER makes one connection in its life*, and libzmq does not connect it again. So bytes that are sent by one
// DEALER arrive at one process, or are lost. Each call uses a new DEALER, and each process of a node is a new peer.
// Messages of a former process are identified by their connection: the ROUTER numbers each connection, and no number is
// used again.
//
// *A stream*: one message of ZeroMQ is a piece of the bytes to a node, at most `max_zeromq_message_bytes` long. libzmq
// disconnects the sender of a larger message. This node disconnects the sender of a frame that split_frames() finds
// invalid.
//
// *Connections*: a pair of nodes has two connections, one for each direction, opened by the sender. The nodes are
// connected once each has called the other and has got an answer from the same process that has called it. A node whose
// cluster has begun calls only nodes that have called it. A node notices the loss of another node when the connection
// from that node ends (libzmq's monitor). The noticing node then ends its own connection to the other node, so that the
// other node notices the loss, too. libzmq's heartbeats are not used: ours (`heartbeat`) also go through the other
// node's reading thread. libzmq has no function to close one connection of a ROUTER. Therefore bytes are dropped if
// they arrive over a connection that belongs to neither a node nor an observer, or that has sent invalid bytes.
//
// *A full queue*: if libzmq's queue is full, the rest of the output stays in this process, up to `max_unsent_bytes`.
// Beyond this limit, the node is disconnected. While a connection lasts, no bytes are dropped. Bytes that libzmq has
// accepted are lost if the process is killed. So a killed process may have sent less than it assumed, as after a
// network failure.
#pragma once

#include <optional>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "wire/curve_keys.hpp"
#include "wire/transport_base.hpp"
#include "wire/zeromq_sockets.hpp"

struct pollfd;

namespace tutti::wire {

class zeromq_transport final : public transport_base {
public:
    /// Starts to listen. Throws wire_error.
    /// REQUIRES: `addresses` are the addresses in `how`.
    zeromq_transport(const transport_options& how, std::vector<address> addresses, handler& to);
    ~zeromq_transport() override;

    void join() override;
    void disconnect(node_number to) noexcept override;

private:
    struct called_peer;
    /// An observer. Each of its messages is one request.
    struct observer {
        observer(observer_server& at, std::chrono::steady_clock::time_point until) : session{at}, due{until} {}

        observer_server::observer_session session;
        std::string question;                       // the request that is not answered yet
        std::chrono::steady_clock::time_point due;  // when the answer, or the next request, is due
        std::chrono::steady_clock::time_point listens_at{};
    };
    /// The number that libzmq gives to a connection of our ROUTER.
    using connection_number = std::uint32_t;
    struct incoming_connection {
        int descriptor = -1;        ///< the monitor's name for the connection
        called_peer* of = nullptr;  ///< the latest peer of its node, if it has sent a valid hello and is not lost
        bool has_sent = false;      ///< the caller has sent something
    };
    [[nodiscard]] static called_peer& as_called_peer(peer& p) noexcept;

    // ---- the reading thread
    void run();
    void wait_until(std::chrono::steady_clock::time_point until);
    [[nodiscard]] bool receive_some();
    void receive(connection_number from, zmq_message& what, bool whole);
    void process_router_events();
    void end_disconnected();
    void answer_key_requests();
    void service(called_peer& p);

    // ---- joining
    [[nodiscard]] called_peer& next_of(called_peer& p);
    [[nodiscard]] bool should_be_called(const called_peer& p) const noexcept;
    void call(called_peer& p);
    void close_call(called_peer& p);
    void advance(called_peer& p);
    [[nodiscard]] bool process_call_events(called_peer& p);
    [[nodiscard]] bool receive_hello_reply(called_peer& p, std::string_view bytes);
    [[nodiscard]] bool is_another(const called_peer& p, const header& hello) const noexcept;
    void forget_connection(called_peer& p) noexcept;
    void receive_hello(connection_number from, incoming_connection& c, const zmq_message& what);
    void open_if_both(called_peer& p);

    // ---- observers
    void admit_observer(connection_number from);
    void receive_from_observer(connection_number from, std::string_view question);
    void answer_observers();
    [[nodiscard]] bool send_in_pieces(connection_number to, std::string_view bytes) noexcept;

    // ---- sending
    void flush(peer& p) override;
    void flush_output(called_peer& p);
    void end_soon(peer& p) override;
    void close_connection(peer& p) noexcept override;
    void wake_reader() noexcept;
    bool send_on_connection(connection_number to, std::string_view bytes) noexcept;

    const std::optional<curve_keys> keys_;  // empty: no encryption
    const zmq_context context_;
    zmq_socket key_requests_;  // libzmq's requests whether to admit a caller (ZAP); made before the ROUTER listens
    zmq_socket router_;
    zmq_monitor of_router_;
    const int wakeup_fd_;  // eventfd

    // Only the reading thread uses these members:
    std::unordered_map<connection_number, incoming_connection> incoming_;
    std::unordered_set<int> connections_;  // descriptors of the open connections
    std::vector<connection_number> disconnected_;
    std::unordered_map<connection_number, observer> observers_by_connection_;
    std::vector<std::shared_ptr<peer>> fresh_;  // peers with new input. A peer may be lost and replaced before its
                                                // input is served
    std::vector<pollfd> awaited_;
    std::thread thread_;
};

}  // namespace tutti::wire
