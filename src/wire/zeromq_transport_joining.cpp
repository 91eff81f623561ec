// Connects nodes over ZeroMQ, and reports the errors of callers and called nodes. Each node calls all other nodes,
// sends a hello, and gets one answer.
#include <algorithm>
#include <array>
#include <cstring>

#include "wire/bytes.hpp"
#include "wire/zeromq_peer.hpp"

namespace tutti::wire {
namespace {

constexpr std::chrono::milliseconds before_next_try{20};
/// The pause before the next call once the cluster has begun.
constexpr std::chrono::milliseconds before_next_look{200};

/// Returns true if the bytes are a hello, of any version.
bool is_hello(std::string_view bytes, header& h, hello& received) {
    return decode(bytes.substr(0, header::size), h) && h.type == message_type::hello &&
           decode(bytes.substr(std::min(bytes.size(), header::size)), received);
}

}  // namespace

void zeromq_transport::join() {
    thread_ = std::thread{[this] { run(); }};
    await_all();
}

/// Returns the peer for a new process. Makes another peer if `p` belongs to a lost process, because a thread may be
/// about to send to `p`. This function may destroy `p`; no incoming connection refers to `p` any more
/// (forget_connection).
zeromq_transport::called_peer& zeromq_transport::next_of(called_peer& p) {
    if (!p.is_former) return p;
    const std::int64_t lost_at = p.lost_at.load(std::memory_order_relaxed);
    called_peer& next = peers_.put<called_peer>(p.number);
    next.lost_at.store(lost_at, std::memory_order_relaxed);
    return next;
}

/// Returns true if this node should call the node, or has called it and is not connected yet.
bool zeromq_transport::should_be_called(const called_peer& p) const noexcept {
    return p.number != options_.own_number && !p.open.load(std::memory_order_relaxed) &&
           (p.out || p.calls || !has_begun());
}

void zeromq_transport::call(called_peer& p) {
    p.due = std::chrono::steady_clock::now() + options_.hello_timeout;
    p.out = zmq_socket{context_, ZMQ_DEALER};
    limit_to_one_call(p.out);
    p.out.set(ZMQ_HANDSHAKE_IVL, static_cast<int>(options_.hello_timeout.count()));
    if (keys_) encrypt(p.out, *keys_, p.number);
    p.of_out = zmq_monitor{context_, p.out, call_result_events};
    const std::string endpoint = endpoint_of(addresses_[p.number]);
    if (!p.out.connect(endpoint))
        throw wire_error{name_of(p.number) + " cannot be called: " + ::zmq_strerror(::zmq_errno())};
}

/// Ends a failed call.
void zeromq_transport::close_call(called_peer& p) {
    p.of_out.stop(p.out);
    p.out.close();
    p.answered_by.reset();
    p.due = std::chrono::steady_clock::now() + (has_begun() ? before_next_look : before_next_try);
}

/// Calls the node. If the node was already called, checks the progress of the call and of the hello.
void zeromq_transport::advance(called_peer& p) {
    if (!should_be_called(p)) return;
    const bool due = std::chrono::steady_clock::now() >= p.due;
    if (!p.out) {
        if (!due) return;
        try {
            call(p);
        } catch (const wire_error& r) {
            report_problem(r.what());
            close_call(p);
        }
        return;
    }
    if (!process_call_events(p)) return close_call(p);
    open_if_both(p);
    if (!due || !p.of_out) return;
    record_problem(name_of(p.number) + (p.answered_by ? " answered, but did not call within " : " sent nothing for ") +
                   std::to_string(options_.hello_timeout.count()) + " ms");
    forget_connection(p);
    close_call(p);
}

/// Handles the events of a call. Returns false if the call has ended.
bool zeromq_transport::process_call_events(called_peer& p) {
    bool lasts = true;
    while (const auto e = p.of_out.next()) {
        if (e->what != ZMQ_EVENT_HANDSHAKE_SUCCEEDED) lasts = false;
        switch (e->what) {
            case ZMQ_EVENT_HANDSHAKE_SUCCEEDED:
                // If the connection has been closed meanwhile, has_room() returns false, and no hello is sent.
                if (p.out.has_room()) static_cast<void>(p.out.send(own_hello()));
                break;
            case ZMQ_EVENT_HANDSHAKE_FAILED_AUTH:
                report_problem(name_of(p.number) +
                               " refuses the key of this node: update the list of keys there, and restart both nodes");
                break;
            case ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL:
                if (e->value != ZMQ_PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH)
                    report_problem("the program that listens on " + addresses_[p.number].text +
                                   " is not a node that speaks ZeroMQ");
                else if (keys_)
                    report_problem(name_of(p.number) +
                                   " has no keys, and this node does: give keys to all nodes, or to none");
                else
                    report_problem(name_of(p.number) +
                                   " uses keys, and this node has none: give keys to all nodes (node_options::curve; "
                                   "docs/cluster.md, \"Over ZeroMQ\"), or to none");
                break;
            case ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL:
                record_problem(
                    name_of(p.number) + " has ended the connection before it identified itself" +
                    (keys_ ? ": it may have another key than the one in " + options_.curve.nodes : std::string{}));
                break;
            default: break;
        }
    }
    for (zmq_message answer; p.out.receive(answer);) lasts = receive_hello_reply(p, answer.bytes()) && lasts;
    return lasts;
}

/// Handles the answer to this node's hello. Returns false if the node has to be called again.
bool zeromq_transport::receive_hello_reply(called_peer& p, std::string_view bytes) {
    header got;
    hello received;
    if (!is_hello(bytes, got, received)) {
        report_problem("the program that listens on " + addresses_[p.number].text + " is not a node");
        return false;
    }
    if (got.version != protocol_version) {
        report_version_mismatch(got);
        return false;
    }
    if (!accepts_hello(got, received, p.number, false)) return false;
    p.answered_by = got.oldest;
    return true;
}

/// Handles the first message of a caller, which identifies the caller. If the caller is not accepted, its later
/// messages are ignored.
void zeromq_transport::receive_hello(connection_number from, incoming_connection& c, const zmq_message& what) {
    header got;
    hello received;
    if (!is_hello(what.bytes(), got, received)) return;
    const bool may_call = is_node(got.from) && got.from != options_.own_number;
    const bool comes_twice = may_call && is_another(as_called_peer(*peers_[got.from]), got);
    const bool has_come = may_call && peers_[got.from]->open.load(std::memory_order_relaxed);
    // The hello is also sent to a refused caller, because the hello shows the caller what is wrong.
    static_cast<void>(send_on_connection(from, own_hello(comes_twice || has_come ? wire::has_another : 0)));
    const std::string_view shown = what.property("User-Id");
    const bool is_who_it_says = !keys_ || shown == std::to_string(got.from);
    if (got.version != protocol_version) {
        if (may_call && is_who_it_says) report_version_mismatch(got);
        return;
    }
    if (got.from == observer_number) {
        // An unknown client's mistake is not reported as an error of the cluster. socket_transport::receive_hello
        // follows the same rule.
        if (received.cluster == options_.cluster && received.nodes == peers_.size()) admit_observer(from);
        return;
    }
    if (!is_who_it_says) {
        return record_problem("a connection from " + std::string{what.property("Peer-Address")} +
                              " claims to be node " + std::to_string(got.from) + ", and shows the key of node " +
                              std::string{shown});
    }
    if (!accepts_hello(got, received, observer_number, may_call)) return;
    called_peer& p = next_of(as_called_peer(*peers_[got.from]));
    if (comes_twice && !has_begun())
        report_problem("two nodes have the number " + std::to_string(got.from) + ": give each its own");
    if (comes_twice || has_come) return;
    forget_connection(p);
    p.calls = from;
    p.hello = got;
    c.of = &p;
    if (!p.out) p.due = {};
    open_if_both(p);
}

/// Returns true if another process with the caller's number has called, and has not disconnected.
bool zeromq_transport::is_another(const called_peer& p, const header& hello) const noexcept {
    return p.calls && p.hello.oldest != hello.oldest &&
           std::ranges::find(disconnected_, *p.calls) == disconnected_.end();
}

/// Drops all further bytes of the peer's incoming connection.
void zeromq_transport::forget_connection(called_peer& p) noexcept {
    if (!p.calls) return;
    if (const auto at = incoming_.find(*p.calls); at != incoming_.end()) at->second.of = nullptr;
    p.calls.reset();
    p.input.clear();
}

void zeromq_transport::open_if_both(called_peer& p) {
    if (!p.calls || p.answered_by != p.hello.oldest) return;
    if (has_begun() && (p.hello.call & wire::has_begun) != 0) {
        // Both sides have begun, and each has lost the other: one of them was stopped or disconnected, and now
        // continues.
        forget_connection(p);
        return close_call(p);
    }
    p.of_out.stop(p.out);
    on_peer_joined(p, p.hello);
    // Processes the bytes that the other node has already sent, since it opened the connection on its side.
    if (!with_memory([&] { return process_input(p); })) end(p);
}

/// Sends bytes to a caller. Returns false if the caller has disconnected, or does not read.
bool zeromq_transport::send_on_connection(connection_number to, std::string_view bytes) noexcept {
    std::array<char, connection_name_bytes> name{};
    std::memcpy(name.data() + 1, &to, sizeof to);
    return router_.send({name.data(), name.size()}, true) && router_.send(bytes);
}

}  // namespace tutti::wire
