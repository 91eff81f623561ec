// A connection on which a test plays a peer, with valid or invalid messages.
#pragma once

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <tutti/cluster/node.hpp>

#include "wire/bytes.hpp"
#include "wire/message.hpp"

namespace tutti::cluster::testing {

class raw_peer {
public:
    /// Connects to the Unix socket `unix:/path`, and waits until a process listens there.
    explicit raw_peer(const std::string& address) {
        sockaddr_un to{};
        to.sun_family = AF_UNIX;
        address.copy(to.sun_path, sizeof to.sun_path - 1, 5);
        while (::connect(socket_, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) std::this_thread::yield();
    }
    /// Takes ownership of a connected socket.
    explicit raw_peer(int socket) : socket_{socket} {}
    ~raw_peer() {
        if (socket_ >= 0) ::close(socket_);
    }
    raw_peer(raw_peer&& other) noexcept : socket_{std::exchange(other.socket_, -1)}, input_{std::move(other.input_)} {}
    raw_peer(const raw_peer&) = delete;
    raw_peer& operator=(const raw_peer&) = delete;

    void send(const std::string& bytes) {
        EXPECT_EQ(::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
    }
    void send(wire::header h, const std::string& body = {}) {
        h.length = static_cast<std::uint32_t>(body.size());
        send(wire::encode(h) + body);
    }
    void send_hello(const node_options& of, wire::node_number from) { send(hello_frame(of, from)); }
    /// Returns the hello frame that node `from` of the cluster sends.
    [[nodiscard]] static std::string hello_frame(const node_options& of, wire::node_number from) {
        const std::string body = wire::encode(hello_of(of));
        const wire::header h{
            .length = static_cast<std::uint32_t>(body.size()), .type = wire::message_type::hello, .from = from};
        return wire::encode(h) + body;
    }
    [[nodiscard]] static wire::hello hello_of(const node_options& of) {
        std::string all = of.cluster;
        for (const std::string& a : of.addresses) all += '\n' + a;
        return {object_id{all}.low, static_cast<std::uint16_t>(of.addresses.size())};
    }

    /// Reads the next frame. Returns false if the other side has closed the connection.
    bool receive(wire::header& h, std::string& body) {
        if (!fill(wire::header::size)) return false;
        EXPECT_TRUE(wire::decode(std::string_view{input_}.substr(0, wire::header::size), h));
        if (!fill(wire::header::size + h.length)) return false;
        body = input_.substr(wire::header::size, h.length);
        input_.erase(0, wire::header::size + h.length);
        return true;
    }
    bool receives_hello() {
        wire::header h;
        std::string body;
        return receive(h, body) && h.type == wire::message_type::hello;
    }
    /// Returns the answer to a status question, or nothing if the other side does not answer.
    std::optional<wire::status_reply> receive_status() {
        wire::header h;
        std::string body;
        wire::status_reply told;
        if (!receive(h, body) || h.type != wire::message_type::status_reply || !wire::decode(body, told))
            return std::nullopt;
        return told;
    }
    std::optional<wire::timeline_reply> order(wire::timeline_order what) {
        send({.type = wire::message_type::timeline, .from = wire::observer_number}, wire::encode(wire::timeline{what}));
        wire::header h;
        std::string body;
        wire::timeline_reply told;
        if (!receive(h, body) || h.type != wire::message_type::timeline_reply || !wire::decode(body, told))
            return std::nullopt;
        return told;
    }
    void ask_status() { send({.type = wire::message_type::status, .from = wire::observer_number}); }
    /// Reads until the other side ends the connection.
    void await_end() {
        wire::header h;
        std::string body;
        while (receive(h, body)) {}
    }

private:
    bool fill(std::size_t size) {
        char some[4096];
        while (input_.size() < size) {
            const ssize_t n = ::recv(socket_, some, sizeof some, 0);
            if (n <= 0) return false;
            input_.append(some, static_cast<std::size_t>(n));
        }
        return true;
    }

    int socket_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    std::string input_;
};

}  // namespace tutti::cluster::testing
