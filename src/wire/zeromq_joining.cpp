// How nodes find each other over ZeroMQ: each calls all others, says hello, and is answered by one; and what is wrong
// with who calls, or is called.
#include <algorithm>
#include <array>
#include <cstring>

#include "wire/bytes.hpp"
#include "wire/zeromq_peer.hpp"

namespace tutti::wire {
namespace {

constexpr int before_next_try = 20;  // ms

/// Whether that is a hello, of whatever version.
bool is_hello(std::string_view bytes, header& h, hello& said) {
    return decode(bytes.substr(0, header::size), h) && h.kind == kind::hello &&
           decode(bytes.substr(std::min(bytes.size(), header::size)), said);
}

}  // namespace

void zeromq::join() {
    for (peer* const p : peers_) {
        if (p->number != how_.self) call(called(*p));
    }
    thread_ = std::thread{[this] { run(); }};
    await_all();
}

void zeromq::call(called_peer& p) {
    p.out = zmq_socket{context_, ZMQ_DEALER};
    set_limits(p.out);
    p.out.set(ZMQ_IMMEDIATE, 1);  // what is sent goes over a connection that is there, or not at all
    p.out.set(ZMQ_RECONNECT_IVL, before_next_try);
    p.out.set(ZMQ_HANDSHAKE_IVL, static_cast<int>(how_.greet_within.count()));
    if (keys_) {
        p.out.set(ZMQ_CURVE_SERVERKEY, text_of(keys_->nodes[p.number]));
        p.out.set(ZMQ_CURVE_PUBLICKEY, text_of(keys_->nodes[how_.self]));
        p.out.set(ZMQ_CURVE_SECRETKEY, text_of(keys_->secret));
    }
    p.of_out = zmq_monitor{context_, p.out,
                           ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_HANDSHAKE_FAILED_AUTH |
                               ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL | ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL |
                               ZMQ_EVENT_DISCONNECTED};
    const std::string endpoint = endpoint_of(addresses_[p.number]);
    if (!p.out.connect(endpoint))
        throw refusal{name_of(p.number) + " cannot be called: " + ::zmq_strerror(::zmq_errno())};
}

/// What has become of the call, and of the hello.
void zeromq::advance(called_peer& p) {
    while (const auto e = p.of_out.next()) {
        switch (e->what) {
            case ZMQ_EVENT_HANDSHAKE_SUCCEEDED:
                // A connection that has gone since takes nothing, and the next one comes by here.
                if (p.out.has_room()) static_cast<void>(p.out.send(own_hello()));
                break;
            case ZMQ_EVENT_HANDSHAKE_FAILED_AUTH:
                complain(name_of(p.number) +
                         " refuses the key of this node: bring the list of keys up to date there, and start both anew");
                break;
            case ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL:
                if (e->value != ZMQ_PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH)
                    complain("what listens on " + addresses_[p.number].text + " is no node that speaks ZeroMQ");
                else if (keys_)
                    complain(name_of(p.number) +
                             " has no keys, and this node does: give them to every node, or to none");
                else
                    complain(name_of(p.number) +
                             " speaks by keys, and this node has none: give them to every node (node_options::curve; "
                             "docs/cluster.md, \"Over ZeroMQ\"), or to none");
                break;
            case ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL:
                note(name_of(p.number) + " has ended the connection before it said who it is" +
                     (keys_ ? ": it has another key, perhaps, than the one that " + how_.curve.nodes + " has of it"
                            : std::string{}));
                break;
            default: p.answered = false;
        }
    }
    for (zmq_message answer; p.out.receive(answer);) hear_answer(p, answer.bytes());
    open_if_both(p);
}

void zeromq::hear_answer(called_peer& p, std::string_view bytes) {
    header got;
    hello said;
    if (!is_hello(bytes, got, said)) return complain("what listens on " + addresses_[p.number].text + " is no node");
    if (got.version != protocol_version) return complain_of_version(got);
    if (fits(got, said, p.number, false)) p.answered = true;
}

/// The first that one says who calls. Where nothing is made of it, nor is of anything that follows.
void zeromq::greet(caller_number from, caller& c, const zmq_message& what) {
    header got;
    hello said;
    if (!is_hello(what.bytes(), got, said)) return;
    // Also where it is turned away: it learns from our hello what is wrong.
    say_to_caller(from, own_hello());
    const bool may_call = is_node(got.from) && got.from != how_.self;
    const std::string_view shown = what.property("User-Id");
    const bool is_who_it_says = !keys_ || shown == std::to_string(got.from);
    if (got.version != protocol_version) {
        if (may_call && is_who_it_says) complain_of_version(got);
        return;
    }
    if (got.from == observer_number) return;
    if (!is_who_it_says) {
        return note("a connection from " + std::string{what.property("Peer-Address")} + " says that it is node " +
                    std::to_string(got.from) + ", and shows the key of node " + std::string{shown});
    }
    if (!fits(got, said, observer_number, may_call)) return;
    called_peer& p = called(*peers_[got.from]);
    if (p.calls) {
        if (!has_begun()) complain("two nodes have the number " + std::to_string(got.from) + ": give each its own");
        return;
    }
    p.calls = from;
    p.hello = got;
    c.of = &p;
    open_if_both(p);
}

void zeromq::open_if_both(called_peer& p) {
    if (!p.answered || !p.calls || p.open.load(std::memory_order_relaxed)) return;
    p.of_out.stop(p.out);
    come(p, p.hello);
    // What it has said since it has been open there.
    if (!with_memory([&] { return serve(p); })) end(p);
}

void zeromq::say_to_caller(caller_number to, std::string_view bytes) noexcept {
    std::array<char, size_of_caller> name{};
    std::memcpy(name.data() + 1, &to, sizeof to);
    if (router_.send({name.data(), name.size()}, true)) static_cast<void>(router_.send(bytes));
}

}  // namespace tutti::wire
