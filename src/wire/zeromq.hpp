// Frames over ZeroMQ (libzmq), as HyflowCPP sent its messages, so that both can be compared. It is TCP with the hellos,
// limits and disconnections of sockets.hpp, and with libzmq's thread in between.
//
// *A ROUTER receives, and a DEALER for each other node sends*, as in ZRE (RFC 36 of ZeroMQ, Hintjens). A socket of
// libzmq must not be used by two threads at once, and so each has one owner. The reading thread owns the ROUTER, and
// learns the connection of each message. A sending thread owns that node's DEALER by its lock. The sending thread does
// not wake another thread of ours, and learns when the queue is full. PAIR would need a port for each node, and PUSH
// does not report the sender.
//
// *A DEALER makes one connection in its life*, and libzmq does not connect it again. So bytes that are sent by one
// DEALER go to one process, or are lost. Each call uses another DEALER, and each process of a node is another peer. The
// connection identifies messages of a former process: the ROUTER numbers each connection, and no number is used again.
//
// *A stream*: one message of ZeroMQ is a piece of the bytes to a node, at most `most_of_message` long. libzmq
// disconnects a sender of a larger message, and cut_frames() a sender of an invalid frame.
//
// *Connections*: a pair of nodes has two connections, each opened by its sender. The nodes are connected once each has
// called the other and been answered, by the same process. A node whose cluster has begun calls only nodes that have
// called it. A node learns of the loss of another one when its incoming connection ends (libzmq's monitor). The first
// node then ends its own connection, which tells the other node. libzmq's heartbeats are not used: ours (`beat`) also
// go through the other node's reading thread. Bytes are dropped if they come over a connection that belongs to neither
// a node nor an observer, or that has sent invalid bytes. libzmq has no call to close one connection of a ROUTER.
//
// *A full queue*: the rest stays in this process, up to `most_unsent`. Beyond this limit, the node is disconnected.
// Nothing is dropped while a connection lasts. Bytes that libzmq has taken are lost with the process: a killed process
// may have sent less than it believed, as after a network failure.
#pragma once

#include <optional>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "wire/correspondence.hpp"
#include "wire/curve_keys.hpp"
#include "wire/zeromq_sockets.hpp"

struct pollfd;

namespace tutti::wire {

class zeromq final : public correspondence {
public:
    /// Listens. Throws refusal.
    /// REQUIRES: the addresses are those of `how`.
    zeromq(const transport_options& how, std::vector<address> addresses, handler& to);
    ~zeromq() override;

    void join() override;
    void give_up(node_number to) noexcept override;

private:
    struct called_peer;
    /// An observer. Each of its messages is one question.
    struct visitor {
        visitor(observers& at, std::chrono::steady_clock::time_point until) : here{at}, due{until} {}

        observers::visit here;
        std::string question;                       // the question that is not answered yet
        std::chrono::steady_clock::time_point due;  // when the answer, or the next question, is due
        std::chrono::steady_clock::time_point listens_at{};
    };
    /// The number that libzmq gives to a connection of our ROUTER.
    using caller_number = std::uint32_t;
    struct caller {
        int descriptor = -1;        ///< the monitor's name for the connection
        called_peer* of = nullptr;  ///< the latest peer of its node, if it has said a valid hello and is not lost
        bool heard = false;         ///< it has sent something
    };
    [[nodiscard]] static called_peer& called(peer& p) noexcept;

    // ---- the reading thread
    void run();
    void rest(std::chrono::steady_clock::time_point until);
    [[nodiscard]] bool receive_some();
    void receive(caller_number from, zmq_message& what, bool whole);
    void hear_of_callers();
    void end_those_who_left();
    void answer_questions_of_keys();
    void attend(called_peer& p);

    // ---- joining
    [[nodiscard]] called_peer& next_of(called_peer& p);
    [[nodiscard]] bool is_to_be_called(const called_peer& p) const noexcept;
    void call(called_peer& p);
    void hang_up_call(called_peer& p);
    void advance(called_peer& p);
    [[nodiscard]] bool hear_of_call(called_peer& p);
    [[nodiscard]] bool hear_answer(called_peer& p, std::string_view bytes);
    [[nodiscard]] bool is_another(const called_peer& p, const header& hello) const noexcept;
    void forget_caller(called_peer& p) noexcept;
    void greet(caller_number from, caller& c, const zmq_message& what);
    void open_if_both(called_peer& p);

    // ---- observers
    void admit_observer(caller_number from);
    void hear_observer(caller_number from, std::string_view question);
    void answer_observers();
    [[nodiscard]] bool say_in_pieces(caller_number to, std::string_view bytes) noexcept;

    // ---- sending
    void flush(peer& p) override;
    void pump(called_peer& p);
    void end_soon(peer& p) override;
    void hang_up(peer& p) noexcept override;
    void ring() noexcept;
    bool say_to_caller(caller_number to, std::string_view bytes) noexcept;

    const std::optional<curve_keys> keys_;  // empty: in the clear
    const zmq_context context_;
    zmq_socket questions_;  // libzmq's questions whether to admit a caller (ZAP); made before the ROUTER listens
    zmq_socket router_;
    zmq_monitor of_router_;
    const int bell_;  // eventfd

    // Used by the reading thread:
    std::unordered_map<caller_number, caller> callers_;
    std::unordered_set<int> connections_;  // descriptors of the open connections
    std::vector<caller_number> left_;
    std::unordered_map<caller_number, visitor> visitors_;
    std::vector<std::shared_ptr<peer>> fresh_;  // peers with new input. A peer may be lost and replaced before its
                                                // input is served
    std::vector<pollfd> awaited_;
    std::thread thread_;
};

}  // namespace tutti::wire
