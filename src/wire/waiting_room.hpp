// The connections whose other side has not identified itself yet. Limits their time and their number.
//
// Not thread-safe: the thread that runs the sockets owns it.
#pragma once

#include <chrono>
#include <list>
#include <memory>

#include "wire/connection.hpp"
#include "wire/fault_injection.hpp"

namespace tutti::wire {

class waiting_room {
public:
    waiting_room(std::size_t most, std::chrono::milliseconds patience) noexcept : most_{most}, patience_{patience} {}

    /// Adds a connection, and closes it when its time is over. If the other side has `called`, the connection counts,
    /// and may replace the oldest one.
    void enter(const std::shared_ptr<connection>& c, bool called) {
        if (!injected(fault::no_deadline)) {
            c->deadline.expires_after(patience_);
            c->deadline.async_wait([weak = std::weak_ptr{c}](asio::error_code moved) {
                const auto late = moved ? nullptr : weak.lock();
                // The connection may have left just when its time was over, while this call was already pending.
                if (!late || late->deadline.expiry() > std::chrono::steady_clock::now()) return;
                late->late = true;
                close(*late);
            });
        }
        if (!called) return;
        here_.remove_if([](const std::weak_ptr<connection>& w) { return w.expired(); });
        if (here_.size() >= most_ && !injected(fault::no_limit)) {
            if (const auto oldest = here_.front().lock()) close(*oldest);
            here_.pop_front();
        }
        here_.push_back(c);
    }
    /// Removes a connection whose other side has identified itself.
    void leave(const std::shared_ptr<connection>& c) {
        c->deadline.expires_at(std::chrono::steady_clock::time_point::max());
        here_.remove_if([&c](const std::weak_ptr<connection>& w) { return w.expired() || w.lock() == c; });
    }

private:
    static void close(connection& c) {
        asio::error_code ignored;
        c.socket.close(ignored);
    }

    const std::size_t most_;
    const std::chrono::milliseconds patience_;
    std::list<std::weak_ptr<connection>> here_;
};

}  // namespace tutti::wire
