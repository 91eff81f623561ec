// Connects nodes over sockets: calls and accepts, exchanges hellos, and reports the errors of connecting processes.
#include <cstring>
#include <utility>

#include "wire/bytes.hpp"
#include "wire/socket_peer.hpp"

namespace tutti::wire {
namespace {

constexpr std::chrono::milliseconds before_next_try{20};
/// The pause before a lost node is called again.
constexpr std::chrono::milliseconds before_next_look{200};

constexpr const char* encrypts =
    "speaks TLS, and this node does not: give every node a certificate, its key and the authority (node_options::tls; "
    "docs/cluster.md, \"Between machines\"), or none";

/// Returns the address of the other side, for messages.
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

void socket_transport::join() {
    accept_next();
    for (node_number i = 0; i < options_.own_number; ++i) try_connect(i);
    on_heartbeat_timer();
    thread_ = std::thread{[this] { io_.run(); }};
    await_all();
}

void socket_transport::accept_next() {
    auto c = std::make_shared<connection>(io_);
    acceptor_.async_accept(c->socket, [this, c](asio::error_code failed) {
        if (failed == asio::error::operation_aborted) return;
        if (!failed) {
            shake_hands(c, static_cast<node_number>(peers_.size()));
            return accept_next();
        }
        // The reason is probably that no file descriptor is left, so tries again after a pause.
        c->deadline.expires_after(before_next_try);
        c->deadline.async_wait([this, c](asio::error_code) { accept_next(); });
    });
}

void socket_transport::try_connect(node_number to) {
    auto c = std::make_shared<connection>(io_);
    c->socket.async_connect(addresses_[to].endpoint, [this, c, to](asio::error_code failed) {
        if (closing_.load(std::memory_order_relaxed)) return;
        if (!failed) return shake_hands(c, to);
        retry_later(to);  // the node does not run yet
    });
}

void socket_transport::retry_later(node_number to) {
    auto later = std::make_shared<asio::steady_timer>(io_, has_begun() ? before_next_look : before_next_try);
    later->async_wait([this, later, to](asio::error_code) { try_connect(to); });
}

/// Performs the handshake. `expected` is the number of the called node, or an invalid node number if the other side has
/// called.
void socket_transport::shake_hands(const std::shared_ptr<connection>& c, node_number expected) {
    const bool known = is_node(expected);
    make_fast(c->socket, addresses_[options_.own_number]);
    if (tls_) {
        const std::shared_ptr<const tls> now = tls_->current();
        c->tls = known ? now->call(certificate_name(expected, options_.cluster_name)) : now->answer();
    }
    pending_handshakes_.add(c, !known);
    c->shake_hands([this, c, expected](asio::error_code failed) {
        if (failed) return refuse(*c, expected, c->tls->error());
        send_hello(c, expected);
    });
}

/// Reports a connection that has failed. If a called node gives a reason, calling it again would have the same result.
void socket_transport::refuse(const connection& c, node_number expected, const std::string& why) {
    const bool known = is_node(expected);
    const std::string who = known ? name_of(expected) : whereabouts_of(c.socket);
    if (known && !why.empty()) {
        report_problem(who + " " + why);
        if (has_begun()) retry_later(expected);
        return;
    }
    if (!why.empty()) record_problem(who + " " + why);
    else if (c.is_late)
        record_problem(who + " sent nothing for " + std::to_string(options_.hello_timeout.count()) + " ms");
    else if (known)
        record_problem(who + " ended the connection before it identified itself: it has ended, or is not a node");
    if (known) retry_later(expected);
}

/// Exchanges hellos. The calling side sends its hello first, so that the called side knows how to answer.
void socket_transport::send_hello(const std::shared_ptr<connection>& c, node_number expected) {
    const auto say = [c](std::string hello) {
        const auto out = std::make_shared<std::string>(std::move(hello));
        asio::async_write(*c, asio::buffer(*out), [out, c](asio::error_code, std::size_t) {});
    };
    const bool known = is_node(expected);
    std::string own = own_hello();
    const auto in = std::make_shared<std::string>(own.size(), '\0');
    if (known) say(std::move(own));
    asio::async_read(*c, asio::buffer(*in), [this, c, in, expected, say](asio::error_code failed, std::size_t n) {
        if (failed) {
            if (c->tls) return refuse(*c, expected, c->tls->error());
            const bool alert = looks_like_alert(std::string_view{*in}.substr(0, n));
            return refuse(*c, expected, alert ? encrypts : "");
        }
        if (!is_node(expected)) {
            header got;
            const bool sound = decode(std::string_view{*in}.substr(0, header::size), got);
            say(own_hello(sound && has_another(got.from) ? wire::has_another : 0));
        }
        receive_hello(c, expected, *in);
    });
}

void socket_transport::receive_hello(const std::shared_ptr<connection>& c, node_number expected,
                                     const std::string& in) {
    header got;
    hello received;
    const std::string_view all{in};
    const bool sound = decode(all.substr(0, header::size), got) && decode(all.substr(header::size), received) &&
                       got.type == message_type::hello;
    const bool known = is_node(expected);
    if (!sound && !c->tls && looks_like_handshake(all)) return refuse(*c, expected, encrypts);
    // With TLS, a caller's certificate may be valid but belong to another node, so its name is checked.
    const auto is_who_it_says = [&] {
        return known || !c->tls || c->tls->has_name(certificate_name(got.from, options_.cluster_name));
    };
    const bool may_call = known || calls_us(got.from);
    if (sound && got.version != protocol_version && may_call && is_who_it_says()) report_version_mismatch(got);
    if (!sound || got.version != protocol_version) {
        if (known && !(sound && got.version != protocol_version))
            report_problem("the program that listens on " + addresses_[expected].text + " is not a node");
        if (known && has_begun()) retry_later(expected);
        return;
    }
    if (!known && got.from == observer_number) {
        // An unknown client's mistake is not reported as an error of the cluster. This node's hello shows the client
        // what is wrong.
        if (received.cluster == options_.cluster && received.nodes == peers_.size()) admit(c);
        return;
    }
    if (!is_who_it_says()) {
        return refuse(*c, expected,
                      "claims to be node " + std::to_string(got.from) + ", and shows a certificate that is made for " +
                          c->tls->names());
    }
    if (!known && has_another(got.from)) return;
    // Both sides have begun, and each has lost the other: one of them was stopped or disconnected, and now continues.
    if (has_begun() && (got.call & wire::has_begun) != 0) {
        if (known) retry_later(expected);
        return;
    }
    if (!accepts_hello(got, received, expected, calls_us(got.from))) {
        if (known && (has_begun() || (got.call & wire::has_another) != 0)) retry_later(expected);
        return;
    }
    // Pending output is sent first, because from now on other functions write to the socket directly.
    if (!c->tls) return install_connection(c, got);
    c->flush([this, c, got](asio::error_code) { install_connection(c, got); });
}

bool socket_transport::has_another(node_number n) const noexcept {
    return has_begun() && is_node(n) && n != options_.own_number && peers_[n]->open.load(std::memory_order_relaxed);
}

/// Admits an observer. An observer need not be a node: every owner of a certificate of the authority may observe.
void socket_transport::admit(const std::shared_ptr<connection>& c) {
    pending_handshakes_.remove(c);
    socket_observers_.admit(c);
}

void socket_transport::install_connection(const std::shared_ptr<connection>& c, const header& hello) {
    if (const peer& before = *peers_[hello.from]; before.open.load(std::memory_order_relaxed)) {
        report_problem("two nodes have the number " + std::to_string(hello.from) + ": give each its own");
        return;
    }
    const bool has_been = peers_[hello.from]->lost_at.load(std::memory_order_relaxed) != 0;
    socket_peer& p = has_been ? peers_.put<socket_peer>(hello.from) : as_socket_peer(*peers_[hello.from]);
    pending_handshakes_.remove(c);
    {
        const std::lock_guard hold{p.guard};
        p.current_connection = c;
    }
    std::swap(p.input, c->plain);
    asio::error_code ignored;
    c->socket.non_blocking(true, ignored);
    on_peer_joined(p, hello);
    // Processes frames that arrived in the same record as the hello.
    if (!with_memory([&] { return process_input(p); })) return end(p);
    read_next(p);
}

}  // namespace tutti::wire
