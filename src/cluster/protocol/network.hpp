// The network port of a transaction. Because of this port, the same code runs over sockets and in a simulation.
#pragma once

#include <span>
#include <string>

#include "wire/message.hpp"

namespace tutti::cluster {

using wire::node_number;

/// One request and its answer.
struct call {
    node_number to = 0;
    wire::message_type type{};
    std::string body;
    std::string answer;      ///< empty until the answer has arrived
    bool answered = false;   ///< false after `exchange`: the node is lost, or has not answered in time
    bool peer_lost = false;  ///< true if the answer is missing because the node is lost
    bool sent = false;       ///< false: the node was lost already, and never receives the call
};

/// The port for messages that need no answer and that belong to no transaction of this node.
class message_sender {
public:
    virtual ~message_sender() = default;
    /// Sends a message. The message arrives, once or more, unless one of the two nodes is lost. Must not call back.
    virtual void send_one_way(node_number to, wire::message_type type, std::string body) = 0;
};

class network {
public:
    virtual ~network() = default;
    /// Sends all calls, and waits for all answers. Raises the node's clock to that of each answer, and counts as one
    /// round trip. May send a request again: the receiver recognizes it by its name (commit_participant.hpp, CMT2).
    virtual void exchange(std::span<call> calls) = 0;
    /// Sends all calls without waiting for answers. Forgets the calls of an earlier `begin`. The calls must stay at
    /// their addresses until they are forgotten.
    virtual void begin(std::span<call> calls) = 0;
    /// Waits for all answers to the calls of `begin`, as `exchange` does, and forgets the calls.
    virtual void finish() = 0;
    /// Sends a message that needs no answer. The message arrives, once or more, unless a node is lost.
    virtual void post(node_number to, wire::message_type type, std::string body) = 0;
    /// Returns true if the last message from `node` is so recent that `node` should not treat this node as lost yet,
    /// because both nodes send equally often. If this node was stopped, the result may be wrong for a moment
    /// (docs/cluster-protocol.md, "Loss of the owner").
    [[nodiscard]] virtual bool is_reachable(node_number node) const noexcept = 0;
    /// Waits for a time that grows with `attempt`, because an object or a lock is busy.
    virtual void pause(unsigned attempt) = 0;
};

}  // namespace tutti::cluster
