// A program's connection to one member, in the clear or under TLS: one request at a time, and no wait without an end.
//
// Thread safety: one thread at a time, but for `cut`.
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

    /// Connects, and says hello to the group, or to any if that is 0; under TLS, if it is to be `secured`. Null: `why`
    /// says what is in the way; what it has said before stays if there was no time to find out.
    [[nodiscard]] static std::unique_ptr<link> open(const std::string& address, std::uint64_t group,
                                                    clock::time_point late, std::string& why,
                                                    credentials* secured = nullptr);
    ~link();
    link(const link&) = delete;
    link& operator=(const link&) = delete;

    [[nodiscard]] const std::string& address() const noexcept { return address_; }
    [[nodiscard]] std::uint64_t group() const noexcept { return group_; }
    /// False: the connection is of no more use. What was sent may have arrived all the same, but not if `sent_any` is
    /// false.
    [[nodiscard]] bool send(std::string_view frame, clock::time_point late);
    [[nodiscard]] bool sent_any() const noexcept { return sent_any_; }
    /// False: the other side has ended it since it was used last.
    [[nodiscard]] bool sound() const noexcept;
    /// The next message that is more than a sign of life. False: the connection is of no more use, or it is late, or
    /// there was silence (P2).
    [[nodiscard]] bool receive(std::string& message, clock::time_point late);
    /// Also returns, with an empty message, at a sign of life.
    [[nodiscard]] bool listen(std::string& message, clock::time_point late);
    /// Any thread: what waits returns soon, and false from then on.
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
    /// Takes some of what has come. False: it is late, or the connection is at its end.
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
