// A program's connection to one member, in the clear or under TLS. The connection has one request at a time, and every
// wait has a timeout.
//
// Thread safety: one thread at a time may call members, except `interrupt`.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "cluster/backend/group_credentials.hpp"
#include "cluster/backend/group_protocol.hpp"
#include "cluster/backend/member_address.hpp"

namespace tutti::cluster::backend::group {

class member_connection {
public:
    using clock = std::chrono::steady_clock;

    /// Connects, and says hello to the group, or to any group if `group` is 0. Uses TLS if `secured` is given. On
    /// failure, returns null, and sets `reason`. If the deadline has passed by then, `reason` keeps the text of an
    /// earlier failure.
    [[nodiscard]] static std::unique_ptr<member_connection> open(const std::string& address, std::uint64_t group,
                                                                 clock::time_point deadline, std::string& reason,
                                                                 credentials* secured = nullptr);
    ~member_connection();
    member_connection(const member_connection&) = delete;
    member_connection& operator=(const member_connection&) = delete;

    [[nodiscard]] const std::string& address() const noexcept { return address_; }
    [[nodiscard]] std::uint64_t group() const noexcept { return group_; }
    /// Sends a frame. Returns false if the connection is unusable. Even then the member may have received bytes of the
    /// frame, unless `has_sent` is false.
    [[nodiscard]] bool send(std::string_view frame, clock::time_point deadline);
    [[nodiscard]] bool has_sent() const noexcept { return has_sent_; }
    /// Returns false if the other side has ended the connection since its last use.
    [[nodiscard]] bool is_usable() const noexcept;
    /// Receives the next message that is not a keep-alive. Returns false if the connection is unusable, the time is
    /// over, or the member was silent (GPR2).
    [[nodiscard]] bool receive(std::string& message, clock::time_point deadline);
    /// Receives as `receive` does, but also returns when a keep-alive arrives, with an empty message.
    [[nodiscard]] bool receive_or_keep_alive(std::string& message, clock::time_point deadline);
    /// Makes pending and later calls return false soon. Any thread may call this function.
    void interrupt() noexcept;

private:
    static std::unique_ptr<member_connection> open_any(const std::string& address, std::uint64_t group,
                                                       clock::time_point deadline, std::string& reason,
                                                       credentials* secured);
    static std::unique_ptr<member_connection> connect(const socket_address& to, const std::string& address,
                                                      clock::time_point deadline, std::string& reason);
    member_connection(int socket, std::string address) : socket_{socket}, address_{std::move(address)} {}
    bool finish_handshake(clock::time_point deadline);
    bool exchange_hello(std::uint64_t group, clock::time_point deadline, std::string& reason);
    [[nodiscard]] std::string reason_for_silence() const;
    bool wait(short events, clock::time_point deadline) const;
    bool send_raw(std::string_view bytes, clock::time_point deadline);
    /// Reads some of the received bytes. Returns false if the time is over, or the connection has ended.
    bool read_some(clock::time_point deadline);
    bool fill(std::size_t bytes, clock::time_point deadline);

    const int socket_;
    const std::string address_;
    std::uint64_t group_ = 0;
    std::unique_ptr<wire::tls_session> tls_;  // null if the connection is not encrypted
    std::string input_;
    bool has_sent_ = false;
};

}  // namespace tutti::cluster::backend::group
