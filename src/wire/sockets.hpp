// Connections of one node to all others, over TCP or Unix sockets: one for each pair, opened by the higher number.
//
// Frames that are sent while an earlier one is being written go out together, by one system call (batching per peer).
// The answers to what arrived in one read go out together, too.
//
// One thread of its own reads, and calls the handler; any thread sends. Why Asio: its sockets of both kinds share one
// type. Its stream of TLS waits for whole writes, and one thread: instead, sessions of OpenSSL stand between
// frames and socket (tls.hpp), so that a batch is still one system call, and one record up to 16 KiB.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "observe/counter.hpp"
#include "wire/address.hpp"
#include "wire/connection.hpp"
#include "wire/message.hpp"
#include "wire/observers.hpp"
#include "wire/waiting_room.hpp"

namespace tutti::wire {

struct socket_options {
    node_number self = 0;
    std::vector<std::string> addresses;
    std::uint64_t cluster = 0;  ///< of the hello
    std::string cluster_name;   ///< of the certificates
    tls_files tls;              ///< without them, addresses beyond loopback are refused
    std::chrono::milliseconds connect_within{10000};
    std::size_t largest = 16u << 20;
    /// A node that has sent nothing for so long is gone: stopped, or cut off. Its process may be there, and finds its
    /// connections ended when it goes on.
    std::chrono::milliseconds silence{5000};
    /// A node that lets so much lie that was sent to it, and goes on asking, is cut off.
    std::size_t most_unsent = 256u << 20;
    /// Who calls has so long to say, and under TLS to show, who it is.
    std::chrono::milliseconds greet_within{5000};
    /// So many may be about to; one more takes the place of the oldest.
    std::size_t most_greeting = 64;
};

class sockets {
public:
    /// All of it runs on the reading thread, and must not block.
    struct handler : observed {
        /// A frame has come. False: its bytes make no sense, and the connection ends.
        virtual bool receive(const header& h, std::string_view body) = 0;
        /// A connection has ended, once for each node. Not during the destructor.
        virtual void lose(node_number node) noexcept = 0;
        /// Nothing was sent to that node for a beat: sends it something.
        virtual void beat(node_number node) = 0;
    };

    /// Listens. Throws refusal.
    sockets(const socket_options& how, handler& to);
    /// Connects; returns when all are connected, and from then on (before it returns, too) calls the handler. Throws
    /// refusal, which says who is missing. REQUIRES: the handler can be called, also if it sends.
    void join();
    ~sockets();
    sockets(const sockets&) = delete;
    sockets& operator=(const sockets&) = delete;

    /// False if that node is gone. Never blocks: what the kernel does not take now is kept. From the handler, the frame
    /// waits for the end of the read that it answers.
    /// Throws std::bad_alloc; either the whole frame goes out then, or nothing of it.
    bool send(node_number to, header h, std::string_view body);
    /// Ends the connection: that node counts as gone, here at once and there when it looks.
    void give_up(node_number to) noexcept;

    /// Traffic, peers and observers, of the facts of this node.
    void describe(cluster::node_facts& to) const;

private:
    struct peer;

    [[nodiscard]] bool calls_us(node_number n) const noexcept { return n > how_.self && n < peers_.size(); }
    [[nodiscard]] bool all_have_joined();
    void accept_next();
    void try_connect(node_number to);
    void try_later(node_number to);
    void shake_hands(const std::shared_ptr<connection>& c, node_number expected);
    void greet(const std::shared_ptr<connection>& c, node_number expected);
    void refuse(const connection& c, node_number expected, const std::string& why);
    void admit(const std::shared_ptr<connection>& c);
    void adopt(const std::shared_ptr<connection>& c, node_number from);
    void read_next(peer& p);
    bool hear(peer& p, std::string_view came);
    bool serve(peer& p);
    bool cut(peer& p);
    void flush(peer& p);
    void break_off(peer& p);
    void end(peer& p);
    void beat();
    void complain(std::string what);
    void note(std::string what);

    const socket_options how_;
    handler& handler_;
    std::vector<address> addresses_;
    observers observers_;             // outlives io_, where what it has arranged waits
    std::unique_ptr<const tls> tls_;  // null: in the clear
    asio::io_context io_{1};
    asio::basic_socket_acceptor<stream> acceptor_{io_};
    asio::steady_timer pulse_{io_};
    waiting_room greeting_;
    std::vector<std::unique_ptr<peer>> peers_;
    std::atomic<std::uint64_t> frames_{0}, bytes_{0}, system_calls_{0};
    // Of the reading thread.
    const std::unique_ptr<char[]> read_buffer_;
    observe::counter received_frames_, received_bytes_;
    std::atomic<bool> closing_{false};

    std::mutex joining_;  // of what is below
    std::string trouble_;
    std::string noted_;  // of the last stranger
    std::size_t joined_ = 0;
    std::condition_variable changed_;
    std::thread thread_;
};

}  // namespace tutti::wire
