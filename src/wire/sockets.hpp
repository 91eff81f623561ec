// The connections of one node to all others, over TCP or Unix sockets. There is one for each pair of nodes, opened by
// the node with the higher number.
//
// Frames that are sent during the write of an earlier one go out together, by one system call (batching per peer).
//
// Asio is used because its sockets of both kinds share one type. Asio's TLS stream waits for whole writes, and needs
// one thread. Therefore OpenSSL sessions are placed between frames and socket instead (tls.hpp). So a batch is still
// one system call, and one record up to 16 KiB.
#pragma once

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "wire/connection.hpp"
#include "wire/correspondence.hpp"
#include "wire/renewed_tls.hpp"
#include "wire/sockets_observers.hpp"
#include "wire/waiting_room.hpp"

namespace tutti::wire {

class sockets final : public correspondence {
public:
    /// Listens. Throws refusal.
    /// REQUIRES: the addresses are those of `how`.
    sockets(const transport_options& how, std::vector<address> addresses, handler& to);
    ~sockets() override;

    void join() override;
    void give_up(node_number to) noexcept override;

private:
    struct linked_peer;
    [[nodiscard]] static linked_peer& linked(peer& p) noexcept;

    [[nodiscard]] bool calls_us(node_number n) const noexcept { return n > how_.self && is_node(n); }
    void accept_next();
    void try_connect(node_number to);
    void try_later(node_number to);
    void shake_hands(const std::shared_ptr<connection>& c, node_number expected);
    void greet(const std::shared_ptr<connection>& c, node_number expected);
    void refuse(const connection& c, node_number expected, const std::string& why);
    void admit(const std::shared_ptr<connection>& c);
    void hear_hello(const std::shared_ptr<connection>& c, node_number expected, const std::string& in);
    void adopt(const std::shared_ptr<connection>& c, const header& hello);
    /// Returns true if a process that calls with that number has to call again.
    [[nodiscard]] bool has_another(node_number n) const noexcept;
    void read_next(linked_peer& of);
    bool hear(linked_peer& p, std::string_view came);
    void say_farewell();
    void flush(peer& p) override;
    void end_soon(peer& p) override;
    void hang_up(peer& p) noexcept override;
    void beat();

    std::unique_ptr<renewed_tls> tls_;  // null: in the clear
    sockets_observers visits_{observers_, how_.silence};
    asio::io_context io_{1};  // destroyed before visits_, because the visits' pending operations wait in it
    asio::basic_socket_acceptor<stream> acceptor_{io_};
    asio::steady_timer pulse_{io_};
    waiting_room greeting_;
    const std::unique_ptr<char[]> read_buffer_;  // used by the reading thread
    std::thread thread_;
};

}  // namespace tutti::wire
