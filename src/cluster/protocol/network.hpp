// What a transaction needs of the network: a port, so that the same code runs over sockets and in a simulation.
#pragma once

#include <span>
#include <string>

#include "wire/message.hpp"

namespace tutti::cluster {

using wire::node_number;

/// One question and its answer.
struct call {
    node_number to = 0;
    wire::kind kind{};
    std::string body;
    std::string answer;     ///< empty until it has come
    bool answered = false;  ///< false after `exchange`: the node is gone, or did not answer in time
    bool gone = false;      ///< of these, which
    bool sent = false;      ///< false: the node was gone by then, and knows nothing of it
};

/// How a node tells another something that asks for no answer and is of no transaction of its own.
class speaker {
public:
    virtual ~speaker() = default;
    /// It arrives, once or more, unless one of the two goes. Must not call back.
    virtual void say(node_number to, wire::kind kind, std::string body) = 0;
};

class network {
public:
    virtual ~network() = default;
    /// Sends all of them and waits for all answers. Raises the node's clock to that of each answer, and counts as one
    /// round trip. May send a question again: the node that answers does so by its name (voter.hpp, V2).
    virtual void exchange(std::span<call> calls) = 0;
    /// Sends all of them, and waits for nothing; forgets those that have begun before. They must stay where they are
    /// until they are forgotten.
    virtual void begin(std::span<call> calls) = 0;
    /// Waits for all answers to those that have begun, as exchange does, and forgets them.
    virtual void finish() = 0;
    /// Sends what asks for no answer. It arrives, once or more, unless a node is lost.
    virtual void post(node_number to, wire::kind kind, std::string body) = 0;
    /// Whether this node has heard of that one so lately that it cannot have been taken for lost by it.
    [[nodiscard]] virtual bool hears(node_number node) const noexcept = 0;
    /// Waits for a moment that grows with `turn`, because something is busy.
    virtual void pause(unsigned turn) = 0;
};

}  // namespace tutti::cluster
