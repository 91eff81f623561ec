// The connections of one node to all other nodes, over TCP or Unix sockets. Each pair of nodes has one connection,
// which the node with the higher number opens.
//
// Frames that are sent while an earlier frame is being written are written together, by one system call (batching per
// peer).
//
// Asio is used because its TCP and Unix sockets share one type. Asio's TLS stream waits for whole writes, and needs one
// thread. Therefore this class uses OpenSSL sessions between frames and socket (tls.hpp). So a batch is still one
// system call, and, up to 16 KiB, one record.
#pragma once

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "wire/connection.hpp"
#include "wire/pending_handshakes.hpp"
#include "wire/reloading_tls.hpp"
#include "wire/socket_observers.hpp"
#include "wire/transport_base.hpp"

namespace tutti::wire {

class socket_transport final : public transport_base {
public:
    /// Starts to listen. Throws wire_error.
    /// REQUIRES: `addresses` are the addresses in `how`.
    socket_transport(const transport_options& how, std::vector<address> addresses, handler& to);
    ~socket_transport() override;

    void join() override;
    void disconnect(node_number to) noexcept override;

private:
    struct socket_peer;
    [[nodiscard]] static socket_peer& as_socket_peer(peer& p) noexcept;

    [[nodiscard]] bool calls_us(node_number n) const noexcept { return n > options_.own_number && is_node(n); }
    void accept_next();
    void try_connect(node_number to);
    void retry_later(node_number to);
    void shake_hands(const std::shared_ptr<connection>& c, node_number expected);
    void send_hello(const std::shared_ptr<connection>& c, node_number expected);
    void refuse(const connection& c, node_number expected, const std::string& why);
    void admit(const std::shared_ptr<connection>& c);
    void receive_hello(const std::shared_ptr<connection>& c, node_number expected, const std::string& in);
    void install_connection(const std::shared_ptr<connection>& c, const header& hello);
    /// Returns true if a process that calls with this number has to call again later, because another process with the
    /// number is connected.
    [[nodiscard]] bool has_another(node_number n) const noexcept;
    void read_next(socket_peer& of);
    bool receive(socket_peer& p, std::string_view came);
    void send_farewell();
    void flush(peer& p) override;
    void end_soon(peer& p) override;
    void close_connection(peer& p) noexcept override;
    void on_heartbeat_timer();

    std::unique_ptr<reloading_tls> tls_;  // null: connections do not use TLS
    socket_observers socket_observers_{observer_server_, options_.failure_timeout};
    asio::io_context io_{1};  // destroyed before socket_observers_, because the sessions' pending operations wait in it
    asio::basic_socket_acceptor<stream> acceptor_{io_};
    asio::steady_timer heartbeat_timer_{io_};
    pending_handshakes pending_handshakes_;
    const std::unique_ptr<char[]> read_buffer_;  // used by the reading thread
    std::thread thread_;
};

}  // namespace tutti::wire
