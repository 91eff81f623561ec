// Frames over ZeroMQ (libzmq), as HyflowCPP sent its messages, so that both can be compared: TCP with the same hellos,
// limits and ends as that of sockets.hpp, and with libzmq's thread in between.
//
// *A ROUTER hears, a DEALER for each other node says*, as in ZRE (RFC 36 of ZeroMQ, Hintjens): so each socket of
// libzmq, none of which bears two threads, has one owner. The reading thread owns the ROUTER, and learns of each
// message which connection it came over; who sends owns that node's DEALER by its lock, writes without waking another
// thread of ours, and is told when its queue is full. PAIR would need a port for each node, and PUSH says nothing of
// who sent.
//
// *A DEALER makes one connection in its life*, and libzmq does not connect it again: so what is said by one goes to one
// process, or nowhere. Each call is another DEALER, and each process of a node another peer. What a former process has
// said is known by its connection: by the number that the ROUTER gives each, and no other one gets.
//
// *A stream*: one message of ZeroMQ is a piece of the bytes that go to a node, `most_of_message` at most. libzmq cuts
// off who sends a larger one, and cut_frames() who sends no frame.
//
// *Who is there*: a pair of nodes has two connections, each opened by who speaks. They are connected once each has
// called the other and been answered, by the same process. One whose cluster has begun calls only those that have
// called. That the one it hears ends is how a node learns that the other is gone (libzmq's monitor); it ends its own
// then, which tells the other. libzmq's heartbeats are not used: ours (`beat`) go through the other's reading thread,
// too. What comes over a connection that is neither a node's nor an observer's, or has made no sense, is thrown away:
// libzmq has no call to close one of a ROUTER's.
//
// *A full queue* keeps the rest with us, up to `most_unsent`, beyond which the node is cut off. Nothing is dropped
// while a connection lasts. What libzmq has taken is lost with the process: who was killed may have sent less than it
// thought, as after a cut of the network.
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
    /// Listens. Throws refusal. REQUIRES: the addresses are those of `how`.
    zeromq(const transport_options& how, std::vector<address> addresses, handler& to);
    ~zeromq() override;

    void join() override;
    void give_up(node_number to) noexcept override;

private:
    struct called_peer;
    /// An observer. One message of its is one question.
    struct visitor {
        visitor(observers& at, std::chrono::steady_clock::time_point until) : here{at}, due{until} {}

        observers::visit here;
        std::string question;                       // that is not answered yet
        std::chrono::steady_clock::time_point due;  // of its answer, or of its next question
        std::chrono::steady_clock::time_point listens_at{};
    };
    /// A connection to our ROUTER, by the number that libzmq gives it.
    using caller_number = std::uint32_t;
    struct caller {
        int descriptor = -1;        ///< as the monitor calls it
        called_peer* of = nullptr;  ///< has said a good hello, and is not lost: its node's latest
        bool heard = false;         ///< has said something
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

    const std::optional<curve_keys> keys_;  // none: in the clear
    const zmq_context context_;
    zmq_socket questions_;  // of libzmq, whether a caller is to be let in (ZAP); before the ROUTER listens
    zmq_socket router_;
    zmq_monitor of_router_;
    const int bell_;  // eventfd

    // Of the reading thread.
    std::unordered_map<caller_number, caller> callers_;
    std::unordered_set<int> connections_;  // descriptors of those that last
    std::vector<caller_number> left_;
    std::unordered_map<caller_number, visitor> visitors_;
    std::vector<std::shared_ptr<peer>> fresh_;  // whose input has grown: it may be lost, and another come, before
    std::vector<pollfd> awaited_;
    std::thread thread_;
};

}  // namespace tutti::wire
