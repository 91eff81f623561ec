// An observer's connection to one node, from the hello to the last answer.
//
// Not thread-safe: a connection belongs to the thread that runs the sockets.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "tutti/cluster/status.hpp"
#include "wire/address.hpp"
#include "wire/connection.hpp"
#include "wire/message.hpp"
#include "wire/tls.hpp"
#include "wire/zeromq_call.hpp"

namespace tutti::cluster {

/// The certificates and keys for an encrypted connection, if the options name any. The constructor throws
/// wire::wire_error.
struct credentials {
    explicit credentials(const observer_options& options);

    std::optional<const wire::tls> tls;
    std::optional<const wire::curve_keys> curve;
};

class observer_connection {
public:
    /// Stores the arguments.
    /// REQUIRES: this object, `options` and `own_credentials` stay where they are until `io` has stopped.
    observer_connection(asio::io_context& io, const observer_options& options, const credentials& own_credentials,
                        std::size_t number);
    virtual ~observer_connection() = default;
    observer_connection(const observer_connection&) = delete;
    observer_connection& operator=(const observer_connection&) = delete;

    void start();
    /// Returns true if the connection has ended.
    [[nodiscard]] bool has_ended() const noexcept { return ended_; }

protected:
    /// Called when both sides have said hello.
    virtual void on_hello() = 0;

    /// Sends a query, and calls `then` with the body of the answer. Ends the connection if the answer is of another
    /// kind or larger than `largest`.
    void send_query(wire::message_type what, const std::string& body, wire::message_type answer, std::size_t largest,
                    std::function<void(std::string_view)> then);
    void end(std::string error);
    /// Returns the reason for a timeout, which depends on what the node has done last.
    [[nodiscard]] std::string timeout_reason() const;

    static constexpr const char* malformed_answer = "sent an invalid answer: another program listens there";

    const observer_options& options_;
    const wire::address address_;
    std::string error_;
    std::chrono::microseconds elapsed_{0};

private:
    [[nodiscard]] wire::hello own_hello() const;
    void start_over_zeromq();
    void send_hello();
    void send(wire::message_type what, const std::string& body);
    void read(std::function<void()> then);
    void receive_hello();

    asio::io_context& io_;
    const credentials& credentials_;
    const std::size_t number_;
    const std::shared_ptr<wire::connection> connection_;
    std::unique_ptr<wire::zeromq_call> zeromq_call_;  // over ZeroMQ, used instead of connection_
    const std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
    const char* stage_ = "does not accept the connection";
    std::deque<std::string> output_;  // kept until the end, because writes may be pending
    std::string input_;
    wire::header header_;
    bool ended_ = false;
};

}  // namespace tutti::cluster
