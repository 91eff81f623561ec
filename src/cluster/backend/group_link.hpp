// A program's connection to one member, in the clear or under TLS. The connection has one request at a time, and every
// wait has a timeout.
//
// Thread safety: one thread at a time, except `cut`.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "cluster/backend/group_credentials.hpp"
#include "cluster/backend/group_place.hpp"
#include "cluster/backend/group_protocol.hpp"

namespace tutti::cluster::backend::group {

class link {
public:
    using clock = std::chrono::steady_clock;

    /// Connects, and says hello to the group, or to any group if `group` is 0. Uses TLS if `secured` is given. Returns
    /// null on failure, and sets `why`. `why` keeps its value if time was too short to learn the reason.
    [[nodiscard]] static std::unique_ptr<link> open(const std::string& address, std::uint64_t group,
                                                    clock::time_point late, std::string& why,
                                                    credentials* secured = nullptr);
    ~link();
    link(const link&) = delete;
    link& operator=(const link&) = delete;

    [[nodiscard]] const std::string& address() const noexcept { return address_; }
    [[nodiscard]] std::uint64_t group() const noexcept { return group_; }
    /// Sends a frame. Returns false if the connection is unusable. The bytes may have arrived even then, but not if
    /// `sent_any` is false.
    [[nodiscard]] bool send(std::string_view frame, clock::time_point late);
    [[nodiscard]] bool sent_any() const noexcept { return sent_any_; }
    /// Returns false if the other side has ended the connection since its last use.
    [[nodiscard]] bool sound() const noexcept;
    /// Receives the next message that is not a keep-alive. Returns false if the connection is unusable, the time is
    /// over, or the member was silent (P2).
    [[nodiscard]] bool receive(std::string& message, clock::time_point late);
    /// Receives as above, but also returns, with an empty message, at a keep-alive.
    [[nodiscard]] bool listen(std::string& message, clock::time_point late);
    /// Makes pending and later calls return false soon. Any thread may call this.
    void cut() noexcept;

private:
    static std::unique_ptr<link> reach(const std::string& address, std::uint64_t group, clock::time_point late,
                                       std::string& why, credentials* secured);
    static std::unique_ptr<link> connect(const socket_place& to, const std::string& address, clock::time_point late,
                                         std::string& why);
    link(int socket, std::string address) : socket_{socket}, address_{std::move(address)} {}
    bool shake_hands(clock::time_point late);
    bool greet(std::uint64_t group, clock::time_point late, std::string& why);
    [[nodiscard]] std::string why_silent() const;
    bool wait(short events, clock::time_point late) const;
    bool send_raw(std::string_view bytes, clock::time_point late);
    /// Reads some of the received bytes. Returns false if the time is over, or the connection has ended.
    bool read_some(clock::time_point late);
    bool fill(std::size_t bytes, clock::time_point late);

    const int socket_;
    const std::string address_;
    std::uint64_t group_ = 0;
    std::unique_ptr<wire::tls_session> tls_;  // null: in the clear
    std::string input_;
    bool sent_any_ = false;
};

}  // namespace tutti::cluster::backend::group
