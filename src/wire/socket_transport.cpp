#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "wire/socket_peer.hpp"

namespace tutti::wire {

namespace {

constexpr std::size_t read_size = std::size_t{64} * 1024;

/// Returns true if a killed process has left the socket's file behind, so that no process listens there.
bool is_left_over(const address& a) {
    if (a.path.empty()) return false;
    asio::io_context io;
    stream::socket s{io};
    asio::error_code failed;
    s.connect(a.endpoint, failed);
    return failed == asio::error::connection_refused;
}

}  // namespace

socket_transport::socket_transport(const transport_options& how, std::vector<address> addresses, handler& to)
    : transport_base{how, std::move(addresses), to},
      pending_handshakes_{how.max_pending_handshakes, how.hello_timeout},
      read_buffer_{std::make_unique_for_overwrite<char[]>(read_size)} {
    if (options_.tls.are_set())
        tls_ = std::make_unique<reloading_tls>(
            options_.tls, std::vector{certificate_name(options_.own_number, options_.cluster_name)});
    for (std::size_t i = 0; i < addresses_.size(); ++i) peers_.put<socket_peer>(static_cast<node_number>(i));
    const address& own = addresses_[options_.own_number];
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

socket_transport::~socket_transport() {
    send_farewell();
    io_.stop();
    if (thread_.joinable()) thread_.join();
    peers_.clear();  // destroyed before io_, because the peers' sockets belong to io_
    if (const address& own = addresses_[options_.own_number]; !own.path.empty()) ::unlink(own.path.c_str());
}

/// Waits until all output is written, and read by the other nodes, before this process closes its sockets. Otherwise
/// closing a socket with unread input would drop output that is on its way. That output may contain the decision of the
/// last commit.
void socket_transport::send_farewell() {
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
            return !one->open.load(std::memory_order_relaxed) || (!as_socket_peer(*one).sending && one->output.empty());
        });
        const std::lock_guard hold{one->guard};
        as_socket_peer(*one).sending = true;  // no more output follows
        if (as_socket_peer(*one).current_connection)
            ::shutdown(as_socket_peer(*one).current_connection->socket.native_handle(), SHUT_WR);
    }
    // Each peer reads all output and then the end of the stream, and then closes its own socket.
    for (std::size_t n = 0; n < peers_.size(); ++n) {
        const std::shared_ptr<peer> one = peers_.share(n);
        wait_for([&] { return !one->open.load(std::memory_order_acquire); });
    }
}

// ---- reading

void socket_transport::read_next(socket_peer& of) {
    of.current_connection->socket.async_wait(
        stream::socket::wait_read, [this, it = of.shared_from_this()](asio::error_code failed) {
            socket_peer& p = as_socket_peer(*it);
            if (failed || !p.current_connection) return end(p);
            // Reads all available bytes, so that the answers to all contained frames are sent together.
            const ssize_t got =
                ::recv(p.current_connection->socket.native_handle(), read_buffer_.get(), read_size, MSG_DONTWAIT);
            if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) return end(p);
            const std::string_view came{read_buffer_.get(), static_cast<std::size_t>(std::max<ssize_t>(got, 0))};
            if (!with_memory([&] { return receive(p, came); })) return end(p);
            read_next(p);
        });
}

/// Handles received bytes. Returns false if they contain an invalid frame.
bool socket_transport::receive(socket_peer& p, std::string_view came) {
    const std::size_t had = p.input.size();
    if (tls_session* const tls = p.current_connection->tls.get(); tls == nullptr) p.input.append(came);
    else if (!tls->decrypt(came, p.input)) return false;
    p.silent_heartbeats.store(0, std::memory_order_relaxed);
    received_bytes_.add(p.input.size() - had);  // like the sent bytes, without what TLS adds
    return process_input(p);
}

// ---- sending

void socket_transport::disconnect(node_number to) noexcept {
    const std::lock_guard hold{peers_.guard(to)};  // the reading thread cannot close the socket meanwhile
    const socket_peer& p = as_socket_peer(*peers_.latest(to));
    if (!p.open.load(std::memory_order_acquire) || !p.current_connection) return;
    // The reading thread finds the end of the connection, and notifies the handler.
    ::shutdown(p.current_connection->socket.native_handle(), SHUT_RDWR);
}

void socket_transport::end_soon(peer& p) {
    asio::post(io_, [this, share = p.shared_from_this()] { end(*share); });
}

void socket_transport::flush(peer& one) {
    socket_peer& p = as_socket_peer(one);
    std::unique_lock hold{p.guard};
    if (p.sending || !p.current_connection) return;
    p.sending = true;
    const std::shared_ptr<connection> link = p.current_connection;  // the socket stays open while this thread sends
    // Breaks the connection off if bytes could not be encrypted or sent. No more bytes may follow, so `sending` stays
    // true. The reading thread is not notified, because that needs memory, which may be lacking. The reading thread
    // finds the end after all received bytes. So it still reads the last decision of the other process, which may have
    // ended.
    const auto break_off = [&] { ::shutdown(link->socket.native_handle(), SHUT_RDWR); };
    for (;;) {
        if (p.in_flight_from == p.in_flight.size()) {
            p.in_flight.clear();
            p.in_flight_from = 0;
            std::swap(p.in_flight, p.output);
            if (tls_session* const tls = link->tls.get()) {
                hold.unlock();
                const bool sealed = tls->encrypt(p.in_flight);
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
                        as_socket_peer(*share).sending = false;
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

void socket_transport::on_heartbeat_timer() {
    heartbeat_timer_.expires_after(heartbeat_interval());
    heartbeat_timer_.async_wait([this](asio::error_code failed) {
        if (failed) return;
        send_heartbeats();
        on_heartbeat_timer();
    });
}

/// Ends the connection. A sending thread may still hold a shared pointer to the connection. The socket is closed when
/// the last shared pointer is gone.
void socket_transport::close_connection(peer& p) noexcept {
    std::shared_ptr<connection> ended;
    {
        const std::lock_guard hold{p.guard};
        std::swap(ended, as_socket_peer(p).current_connection);
    }
    asio::error_code ignored;
    ended->socket.shutdown(stream::socket::shutdown_both, ignored);
    if (p.number < options_.own_number) retry_later(p.number);  // the node may rejoin
}

}  // namespace tutti::wire
