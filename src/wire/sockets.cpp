#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "wire/sockets_peer.hpp"

namespace tutti::wire {

namespace {

constexpr std::size_t read_size = std::size_t{64} * 1024;

/// Returns true if the file was left by a killed process: no process listens there.
bool is_left_over(const address& a) {
    if (a.path.empty()) return false;
    asio::io_context io;
    stream::socket s{io};
    asio::error_code failed;
    s.connect(a.endpoint, failed);
    return failed == asio::error::connection_refused;
}

}  // namespace

sockets::sockets(const transport_options& how, std::vector<address> addresses, handler& to)
    : correspondence{how, std::move(addresses), to},
      greeting_{how.most_greeting, how.greet_within},
      read_buffer_{std::make_unique_for_overwrite<char[]>(read_size)} {
    if (how_.tls.wanted())
        tls_ = std::make_unique<renewed_tls>(how_.tls, std::vector{certificate_name(how_.self, how_.cluster_name)});
    for (std::size_t i = 0; i < addresses_.size(); ++i) peers_.put<linked_peer>(static_cast<node_number>(i));
    const address& own = addresses_[how_.self];
    asio::error_code failed;
    acceptor_.open(own.endpoint.protocol(), failed);
    if (!failed && own.path.empty()) acceptor_.set_option(asio::socket_base::reuse_address{true}, failed);
    if (!failed) acceptor_.bind(own.endpoint, failed);
    if (failed == asio::error::address_in_use && is_left_over(own)) {
        ::unlink(own.path.c_str());
        acceptor_.bind(own.endpoint, failed);
    }
    if (!failed) acceptor_.listen(asio::socket_base::max_listen_connections, failed);
    if (failed) refuse_to_listen(failed.value(), failed.message());
}

sockets::~sockets() {
    say_farewell();
    io_.stop();
    if (thread_.joinable()) thread_.join();
    peers_.clear();  // their sockets belong to io_
    if (const address& own = addresses_[how_.self]; !own.path.empty()) ::unlink(own.path.c_str());
}

/// Waits until all output is written, and read by the other nodes, before this process closes its sockets. The output
/// may contain the decision of the last commit. Closing a socket with unread input would drop output that is on its
/// way.
void sockets::say_farewell() {
    closing_.store(true, std::memory_order_relaxed);
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds{1};
    const auto wait_for = [&](auto&& holds) {
        while (!holds() && std::chrono::steady_clock::now() < limit)
            std::this_thread::sleep_for(std::chrono::milliseconds{1});
    };
    for (std::size_t n = 0; n < peers_.size(); ++n) {
        const std::shared_ptr<peer> one = peers_.share(n);
        wait_for([&] {
            const std::lock_guard hold{one->guard};
            return !one->open.load(std::memory_order_relaxed) || (!linked(*one).sending && one->output.empty());
        });
        const std::lock_guard hold{one->guard};
        linked(*one).sending = true;  // no more output follows
        if (linked(*one).link) ::shutdown(linked(*one).link->socket.native_handle(), SHUT_WR);
    }
    // Each peer reads the end of the stream after all output, and closes its own socket.
    for (std::size_t n = 0; n < peers_.size(); ++n) {
        const std::shared_ptr<peer> one = peers_.share(n);
        wait_for([&] { return !one->open.load(std::memory_order_acquire); });
    }
}

// ---- reading

void sockets::read_next(linked_peer& of) {
    of.link->socket.async_wait(stream::socket::wait_read, [this, it = of.shared_from_this()](asio::error_code failed) {
        linked_peer& p = linked(*it);
        if (failed || !p.link) return end(p);
        // Reads all available bytes, so that the answers to them are sent together.
        const ssize_t got = ::recv(p.link->socket.native_handle(), read_buffer_.get(), read_size, MSG_DONTWAIT);
        if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) return end(p);
        const std::string_view came{read_buffer_.get(), static_cast<std::size_t>(std::max<ssize_t>(got, 0))};
        if (!with_memory([&] { return hear(p, came); })) return end(p);
        read_next(p);
    });
}

/// Handles received bytes. Returns false if they contain an invalid frame.
bool sockets::hear(linked_peer& p, std::string_view came) {
    const std::size_t had = p.input.size();
    if (tls_session* const tls = p.link->tls.get(); tls == nullptr) p.input.append(came);
    else if (!tls->open(came, p.input)) return false;
    p.silent.store(0, std::memory_order_relaxed);
    received_bytes_.add(p.input.size() - had);  // like the sent bytes, without what TLS adds
    return serve(p);
}

// ---- sending

void sockets::give_up(node_number to) noexcept {
    const std::lock_guard hold{peers_.guard(to)};  // the reading thread cannot close the socket meanwhile
    const linked_peer& p = linked(*peers_.latest(to));
    if (!p.open.load(std::memory_order_acquire) || !p.link) return;
    // The reading thread finds the end of the connection, and tells the handler.
    ::shutdown(p.link->socket.native_handle(), SHUT_RDWR);
}

void sockets::end_soon(peer& p) {
    asio::post(io_, [this, share = p.shared_from_this()] { end(*share); });
}

void sockets::flush(peer& one) {
    linked_peer& p = linked(one);
    std::unique_lock hold{p.guard};
    if (p.sending || !p.link) return;
    p.sending = true;
    const std::shared_ptr<connection> link = p.link;  // the socket stays open while this thread sends
    // Breaks the connection off if bytes could not be sealed or sent. The reading thread is not told, because the error
    // may be one of memory. No more bytes may follow, so `sending` stays true. The reading thread finds the end after
    // all received bytes: the other process may have ended, and its last decision still has to be read.
    const auto break_off = [&] { ::shutdown(link->socket.native_handle(), SHUT_RDWR); };
    for (;;) {
        if (p.in_flight_from == p.in_flight.size()) {
            p.in_flight.clear();
            p.in_flight_from = 0;
            std::swap(p.in_flight, p.output);
            if (tls_session* const tls = link->tls.get()) {
                hold.unlock();
                const bool sealed = tls->seal(p.in_flight);
                hold.lock();
                if (!sealed) return break_off();
            }
        }
        if (p.in_flight.empty() || !p.open.load(std::memory_order_relaxed)) break;
        hold.unlock();
        system_calls_.fetch_add(1, std::memory_order_relaxed);
        const ssize_t sent = ::send(link->socket.native_handle(), p.in_flight.data() + p.in_flight_from,
                                    p.in_flight.size() - p.in_flight_from, MSG_DONTWAIT | MSG_NOSIGNAL);
        const bool full = sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
        hold.lock();
        if (sent > 0) {
            p.in_flight_from += static_cast<std::size_t>(sent);
            continue;
        }
        if (full) {
            // `sending` stays true: the write continues after the wait.
            hold.unlock();
            asio::post(io_, [this, link, share = p.shared_from_this()] {
                link->socket.async_wait(stream::socket::wait_write, [this, share](asio::error_code failed) {
                    {
                        const std::lock_guard again{share->guard};
                        linked(*share).sending = false;
                    }
                    if (!failed) flush(*share);
                });
            });
            return;
        }
        return break_off();
    }
    p.sending = false;
}

// ---- watching the peers

void sockets::beat() {
    pulse_.expires_after(beat_length());
    pulse_.async_wait([this](asio::error_code failed) {
        if (failed) return;
        beat_all();
        beat();
    });
}

/// Ends the connection. A sending thread holds a shared pointer to the connection. The socket is closed when the last
/// shared pointer is gone.
void sockets::hang_up(peer& p) noexcept {
    std::shared_ptr<connection> ended;
    {
        const std::lock_guard hold{p.guard};
        std::swap(ended, linked(p).link);
    }
    asio::error_code ignored;
    ended->socket.shutdown(stream::socket::shutdown_both, ignored);
    if (p.number < how_.self) try_later(p.number);  // the node may come back
}

}  // namespace tutti::wire
