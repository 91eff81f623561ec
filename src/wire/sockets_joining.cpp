// How nodes find each other: connections made and taken, hellos, and what is wrong with who comes.
#include <cstring>
#include <utility>

#include "wire/bytes.hpp"
#include "wire/sockets_peer.hpp"

namespace tutti::wire {
namespace {

constexpr std::chrono::milliseconds before_next_try{20};

constexpr const char* encrypts =
    "speaks TLS, and this node does not: give every node a certificate, its key and the authority (node_options::tls; "
    "docs/cluster.md, \"Between machines\"), or none";

/// Who is at the other end, for messages.
std::string whereabouts_of(const stream::socket& s) {
    asio::error_code failed;
    const stream::endpoint e = s.remote_endpoint(failed);
    const int family = e.protocol().family();
    if (failed || (family != AF_INET && family != AF_INET6)) return "a connection";
    asio::ip::tcp::endpoint tcp;
    tcp.resize(e.size());
    std::memcpy(tcp.data(), e.data(), e.size());
    return "a connection from " + tcp.address().to_string() + ":" + std::to_string(tcp.port());
}

void make_fast(stream::socket& s, const address& a) {
    if (!a.path.empty()) return;
    asio::error_code ignored;
    s.set_option(asio::ip::tcp::no_delay{true}, ignored);
}

}  // namespace

void sockets::join() {
    accept_next();
    for (node_number i = 0; i < how_.self; ++i) try_connect(i);
    beat();
    thread_ = std::thread{[this] { io_.run(); }};
    await_all();
}

void sockets::accept_next() {
    auto c = std::make_shared<connection>(io_);
    acceptor_.async_accept(c->socket, [this, c](asio::error_code failed) {
        if (failed == asio::error::operation_aborted) return;
        if (!failed) {
            shake_hands(c, static_cast<node_number>(peers_.size()));
            return accept_next();
        }
        // No file descriptor is left, most likely.
        c->deadline.expires_after(before_next_try);
        c->deadline.async_wait([this, c](asio::error_code) { accept_next(); });
    });
}

void sockets::try_connect(node_number to) {
    auto c = std::make_shared<connection>(io_);
    c->socket.async_connect(addresses_[to].endpoint, [this, c, to](asio::error_code failed) {
        if (closing_.load(std::memory_order_relaxed)) return;
        if (!failed) return shake_hands(c, to);
        try_later(to);  // it is not up yet
    });
}

void sockets::try_later(node_number to) {
    auto later = std::make_shared<asio::steady_timer>(io_, before_next_try);
    later->async_wait([this, later, to](asio::error_code) { try_connect(to); });
}

/// `expected` is who is called, or no node's number for one that calls.
void sockets::shake_hands(const std::shared_ptr<connection>& c, node_number expected) {
    const bool known = is_node(expected);
    make_fast(c->socket, addresses_[how_.self]);
    if (tls_) c->tls = known ? tls_->call(certificate_name(expected, how_.cluster_name)) : tls_->answer();
    greeting_.enter(c, !known);
    c->shake_hands([this, c, expected](asio::error_code failed) {
        if (failed) return refuse(*c, expected, c->tls->trouble());
        greet(c, expected);
    });
}

/// A connection has come to nothing. A called node that says why will not say anything else the next time.
void sockets::refuse(const connection& c, node_number expected, const std::string& why) {
    const bool known = is_node(expected);
    const std::string who = known ? name_of(expected) : whereabouts_of(c.socket);
    if (known && !why.empty()) return complain(who + " " + why);
    if (!why.empty()) note(who + " " + why);
    else if (c.late) note(who + " said nothing for " + std::to_string(how_.greet_within.count()) + " ms");
    else if (known) note(who + " ended the connection before it said who it is: it is no node, perhaps, or has ended");
    if (known) try_later(expected);
}

/// Exchanges hellos.
void sockets::greet(const std::shared_ptr<connection>& c, node_number expected) {
    const auto out = std::make_shared<std::string>(own_hello());
    const auto in = std::make_shared<std::string>(out->size(), '\0');
    asio::async_write(*c, asio::buffer(*out), [out, c](asio::error_code, std::size_t) {});
    asio::async_read(*c, asio::buffer(*in), [this, c, in, expected](asio::error_code failed, std::size_t n) {
        if (failed) {
            if (c->tls) return refuse(*c, expected, c->tls->trouble());
            const bool alert = looks_like_alert(std::string_view{*in}.substr(0, n));
            return refuse(*c, expected, alert ? encrypts : "");
        }
        header got;
        hello said;
        const std::string_view all{*in};
        const bool sound = decode(all.substr(0, header::size), got) && decode(all.substr(header::size), said) &&
                           got.kind == kind::hello;
        const bool known = is_node(expected);
        if (!sound && !c->tls && looks_like_handshake(all)) return refuse(*c, expected, encrypts);
        // Of a caller under TLS, whose certificate may be that of another.
        const auto is_who_it_says = [&] {
            return known || !c->tls || c->tls->is(certificate_name(got.from, how_.cluster_name));
        };
        if (sound && got.version != protocol_version && (known || calls_us(got.from)) && is_who_it_says()) {
            return complain_of_version(got);
        }
        if (!sound || got.version != protocol_version) {
            if (known) complain("what listens on " + addresses_[expected].text + " is no node");
            return;
        }
        if (!known && got.from == observer_number) {
            // A stranger's mistake is no trouble of the cluster: it learns from our hello what is wrong.
            if (said.cluster == how_.cluster && said.nodes == peers_.size()) admit(c);
            return;
        }
        if (!is_who_it_says()) {
            return refuse(*c, expected,
                          "says that it is node " + std::to_string(got.from) +
                              ", and shows a certificate that is made for " + c->tls->names());
        }
        if (!fits(got, said, expected, calls_us(got.from))) return;
        // Whatever was to be sent goes first: from now on the writers are others.
        if (!c->tls) return adopt(c, got.from);
        c->flush([this, c, from = got.from](asio::error_code) { adopt(c, from); });
    });
}

/// An observer, who need not be a node: whoever has a certificate of the authority may look.
void sockets::admit(const std::shared_ptr<connection>& c) {
    greeting_.leave(c);
    observers_.admit(c);
}

void sockets::adopt(const std::shared_ptr<connection>& c, node_number from) {
    linked_peer& p = linked(*peers_[from]);
    if (p.link) {
        complain("two nodes have the number " + std::to_string(from) + ": give each its own");
        return;
    }
    greeting_.leave(c);
    p.link = c;
    std::swap(p.input, c->plain);
    asio::error_code ignored;
    c->socket.non_blocking(true, ignored);
    come(p);
    // What came in one record with the hello.
    if (!with_memory([&] { return serve(p); })) return end(p);
    read_next(p);
}

}  // namespace tutti::wire
