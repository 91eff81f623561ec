/// @file
/// Procedure calls that one server of a cluster asks another server to run, over the connections between their nodes.
///
/// The *first* server is the server whose client waits for the reply. The call is about one object, and the first
/// server sends the call to the node that owns this object. The server of that node either runs the call or declines
/// it. A declined call has not run there at all, so the first server runs it or sends it to another node. A server
/// sends a call to a node only once. So the call runs exactly once, unless the other node is lost: then it may never
/// have run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tutti/cluster/id.hpp"

namespace tutti::cluster {

/// A call that one server asks another server to run.
struct forwarded_call {
    std::string procedure;
    std::vector<std::string> arguments;
    object_id routing_object;    ///< the object whose owner should run the call
    std::uint8_t priority = 0;   ///< the priority that the first server's client, or the procedure, gives the call
    std::int64_t due_in_us = 0;  ///< time from sending to the deadline; 0: no deadline, negative: it has passed
    bool resp3 = false;          ///< true: write the reply in RESP3
    bool no_redirect = false;    ///< true: run the call in any case, because a node named this node as the owner
    template <class V>
    void fields(V& v) {
        v(procedure), v(arguments), v(routing_object), v(priority), v(due_in_us), v(resp3), v(no_redirect);
    }
};

/// How a forwarded call ended.
enum class forwarded_outcome : std::uint8_t {
    ran,        ///< the call ran, or was refused because it arrived after its deadline; `reply` is the client's reply
    declined,   ///< the call did not run: the node has no server, no such procedure, or no room
    elsewhere,  ///< the call did not run: node `owner` owns the object
};
constexpr forwarded_outcome last(forwarded_outcome) noexcept { return forwarded_outcome::elsewhere; }

struct forwarded_reply {
    forwarded_outcome result{};
    std::uint16_t owner = 0;
    std::uint8_t outcome = 0;  ///< how the call ended, as a number that servers use
    std::string reply;
    template <class V>
    void fields(V& v) {
        v(result), v(owner), v(outcome), v(reply);
    }
};

/// The interface of a server for its node. The node's reader thread makes one call at a time, and the functions must
/// not wait.
class call_handler {
public:
    call_handler() = default;
    call_handler(const call_handler&) = delete;
    call_handler& operator=(const call_handler&) = delete;

    /// Runs another server's call. The server replies by call_transport::send_reply exactly once, possibly before this
    /// function returns.
    virtual void run(unsigned from, std::uint64_t number, forwarded_call&& what) = 0;
    /// Reports that the calling server no longer waits for the reply to the call. The call ends if it sleeps in
    /// `retry`. `stranded` is true if the calling server ends, and false if its client has disconnected.
    virtual void cancel(unsigned from, std::uint64_t number, bool stranded) = 0;
    /// Receives the reply to a call that this server has sent.
    virtual void on_reply(unsigned from, std::uint64_t number, forwarded_reply&& how) = 0;
    /// Records that the node is lost. The node replies to no more calls, and its server waits for no more replies.
    virtual void on_node_lost(unsigned node) noexcept = 0;

protected:
    ~call_handler() = default;
};

/// The interface of a node for its server. Thread safety: you can call every member from any thread.
class call_transport {
public:
    call_transport() = default;
    call_transport(const call_transport&) = delete;
    call_transport& operator=(const call_transport&) = delete;

    /// Sends incoming calls to `handler` from now on. If `handler` is null, the node declines every call. Returns once
    /// the node no longer calls the earlier handler.
    virtual void set_call_handler(call_handler* handler) = 0;
    [[nodiscard]] virtual unsigned number() const noexcept = 0;
    /// Returns the node that owns the object, as far as this node knows, and sends no message. If this node does not
    /// know the owner, returns the object's home, which knows the owner. The object may move a moment later.
    [[nodiscard]] virtual unsigned owner(const object_id& id) = 0;
    /// Returns the largest size of a reply that fits into a message, in bytes.
    [[nodiscard]] virtual std::size_t max_bytes() const noexcept = 0;
    /// Returns false if that node is lost; in this case the call was not sent.
    [[nodiscard]] virtual bool send(unsigned to, std::uint64_t number, const forwarded_call& what) = 0;
    virtual void cancel(unsigned to, std::uint64_t number, bool stranded) = 0;
    /// Sends the reply. If memory runs out, closes the connection to that node, so that the node's server does not wait
    /// forever.
    virtual void send_reply(unsigned to, std::uint64_t number, const forwarded_reply& how) noexcept = 0;

protected:
    ~call_transport() = default;
};

}  // namespace tutti::cluster
