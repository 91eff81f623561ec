// An observer's connection to one node, from the hello to the last answer.
//
// Not thread-safe: the thread that runs the sockets owns it.
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

/// The certificates and keys that encrypt the connection, if there are any. The constructor throws wire::wire_error.
struct credentials {
    explicit credentials(const observer_options& whom);

    std::optional<const wire::tls> tls;
    std::optional<const wire::curve_keys> curve;
};

class visit {
public:
    /// Stores the arguments.
    /// REQUIRES: this object, `whom` and `by` stay where they are until `io` has stopped.
    visit(asio::io_context& io, const observer_options& whom, const credentials& by, std::size_t number);
    virtual ~visit() = default;
    visit(const visit&) = delete;
    visit& operator=(const visit&) = delete;

    void start();
    /// Returns true if the visit has ended.
    [[nodiscard]] bool over() const noexcept { return over_; }

protected:
    /// Called when both sides have said hello.
    virtual void greeted() = 0;

    /// Sends a question, and calls `then` with the body of the answer. Ends the visit if the answer is of another kind
    /// or larger than `largest`.
    void ask(wire::message_type what, const std::string& body, wire::message_type answer, std::size_t largest,
             std::function<void(std::string_view)> then);
    void end(std::string trouble);
    /// Returns the reason why an unfinished visit has not ended: what the node did last.
    [[nodiscard]] std::string overdue() const;

    static constexpr const char* no_sense = "answered something that makes no sense: something else listens there";

    const observer_options& whom_;
    const wire::address to_;
    std::string trouble_;
    std::chrono::microseconds took_{0};

private:
    [[nodiscard]] wire::hello said() const;
    void start_over_zeromq();
    void greet();
    void say(wire::message_type what, const std::string& body);
    void read(std::function<void()> then);
    void hear_hello();

    asio::io_context& io_;
    const credentials& by_;
    const std::size_t number_;
    const std::shared_ptr<wire::connection> link_;
    std::unique_ptr<wire::zeromq_call> call_;  // used instead of link_ over ZeroMQ
    const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
    const char* stage_ = "does not accept the connection";
    std::deque<std::string> output_;  // kept until the end, because writes may be pending
    std::string input_;
    wire::header header_;
    bool over_ = false;
};

}  // namespace tutti::cluster
