// The connections whose other side has not identified itself yet. Limits the time and the number of such connections.
//
// Not thread-safe: the thread that runs the sockets owns it.
#pragma once

#include <chrono>
#include <list>
#include <memory>

#include "wire/connection.hpp"
#include "wire/fault_injection.hpp"

namespace tutti::wire {

class pending_handshakes {
public:
    pending_handshakes(std::size_t max_connections, std::chrono::milliseconds timeout) noexcept
        : max_connections_{max_connections}, timeout_{timeout} {}

    /// Adds a connection, and closes it at its timeout. If the other side has `called`, the connection counts toward
    /// the maximum, and may replace the oldest connection.
    void add(const std::shared_ptr<connection>& c, bool called) {
        if (!injected(fault::no_deadline)) {
            c->deadline.expires_after(timeout_);
            c->deadline.async_wait([weak = std::weak_ptr{c}](asio::error_code moved) {
                const auto late = moved ? nullptr : weak.lock();
                // The connection may have been removed just at its timeout, when this callback was already pending.
                if (!late || late->deadline.expiry() > std::chrono::steady_clock::now()) return;
                late->is_late = true;
                close(*late);
            });
        }
        if (!called) return;
        pending_.remove_if([](const std::weak_ptr<connection>& w) { return w.expired(); });
        if (pending_.size() >= max_connections_ && !injected(fault::no_limit)) {
            if (const auto oldest = pending_.front().lock()) close(*oldest);
            pending_.pop_front();
        }
        pending_.push_back(c);
    }
    /// Removes a connection whose other side has identified itself.
    void remove(const std::shared_ptr<connection>& c) {
        c->deadline.expires_at(std::chrono::steady_clock::time_point::max());
        pending_.remove_if([&c](const std::weak_ptr<connection>& w) { return w.expired() || w.lock() == c; });
    }

private:
    static void close(connection& c) {
        asio::error_code ignored;
        c.socket.close(ignored);
    }

    const std::size_t max_connections_;
    const std::chrono::milliseconds timeout_;
    std::list<std::weak_ptr<connection>> pending_;
};

}  // namespace tutti::wire
