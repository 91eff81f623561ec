// Connections of one node to all others, over TCP or Unix sockets: one for each pair, opened by the higher number.
//
// Frames that are sent while an earlier one is being written go out together, by one system call (batching per peer).
//
// Why Asio: its sockets of both kinds share one type. Its stream of TLS waits for whole writes, and one thread:
// instead, sessions of OpenSSL stand between frames and socket (tls.hpp), so that a batch is still one system call,
// and one record up to 16 KiB.
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
    /// Listens. Throws refusal. REQUIRES: the addresses are those of `how`.
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
    /// Whether a caller with that number is to call again.
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
    asio::io_context io_{1};  // before visits_ go, where what they have arranged waits
    asio::basic_socket_acceptor<stream> acceptor_{io_};
    asio::steady_timer pulse_{io_};
    waiting_room greeting_;
    const std::unique_ptr<char[]> read_buffer_;  // of the reading thread
    std::thread thread_;
};

}  // namespace tutti::wire
