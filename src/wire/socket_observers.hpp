// Serves the observers that have connected over sockets: reads their requests, and writes the answers.
//
// Not thread-safe: the thread that runs the sockets owns it.
#pragma once

#include <chrono>
#include <memory>

#include "wire/connection.hpp"
#include "wire/observer_server.hpp"

namespace tutti::wire {

class socket_observers {
public:
    socket_observers(observer_server& all, std::chrono::milliseconds timeout) noexcept : all_{all}, timeout_{timeout} {}

    /// Admits an observer that has sent its hello.
    /// REQUIRES: this object, and `all`, outlive the context that runs the observer's socket.
    void admit(std::shared_ptr<connection> c);

private:
    struct session;
    void listen(const std::shared_ptr<session>& v);
    void reply_to(const std::shared_ptr<session>& v);

    observer_server& all_;
    const std::chrono::milliseconds timeout_;
};

}  // namespace tutti::wire
