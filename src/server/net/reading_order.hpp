// The order in which an I/O thread reads the clients that have sent data, if it does not read all of them in one round.
// The priority of a request is known only after the request is read and parsed, and the order exists to avoid that
// work. So the order uses the priority of the client's latest call as an estimate for its next one.
//
//   RDO1  Clients of higher priority come first; among equals, the client that was read longest ago.
//   RDO2  In each round, one of the clients that were left out for `max_wait` is read regardless of its priority. So no
//         client waits forever, not even a client whose next request is more urgent than its latest call. Even if
//         many less urgent clients are left out, a round reads only one of them, so they do not delay other clients.
//
// Thread safety: not thread-safe. An I/O thread owns the object.
#pragma once

#include <chrono>
#include <cstdint>

#include "server/calls/executor.hpp"

namespace tutti::server {

/// A client's place in the reading order.
class reading_turn {
public:
    static constexpr std::chrono::milliseconds max_wait{100};

    void record_call(int priority) noexcept {
        priority_ = priority;
        has_called_ = true;
    }
    /// Records a request of the client that is not a call.
    void record_command() noexcept {
        if (!has_called_) priority_ = procedure_options{}.priority;
    }
    /// `which` is a number that grows with each read of any client.
    void record_read(std::uint64_t which) noexcept {
        latest_ = which;
        skipped_since_ = never;
    }
    void mark_skipped(instant now) noexcept {
        if (skipped_since_ == never) skipped_since_ = now;
    }

    /// Returns true if this client is read before `other`. `round_robin`: ignores the priorities in RDO1.
    [[nodiscard]] bool is_before(const reading_turn& other, bool round_robin) const noexcept {
        return !round_robin && priority_ != other.priority_ ? priority_ > other.priority_ : latest_ < other.latest_;
    }
    [[nodiscard]] bool is_overdue(instant now) const noexcept {
        return skipped_since_ != never && now - skipped_since_ >= max_wait;
    }

private:
    static constexpr instant never = instant::max();

    int priority_ = highest_priority;  // a new client may be an admin
    bool has_called_ = false;
    std::uint64_t latest_ = 0;
    instant skipped_since_ = never;
};

}  // namespace tutti::server
