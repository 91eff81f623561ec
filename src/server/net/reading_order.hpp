// The order in which an I/O thread reads the clients that have sent data, if it does not read all of them in one round.
// The priority of a request is known only after it is read and cut, and the order exists to avoid that work. So the
// order uses the priority of the client's latest call as an estimate for its next one.
//
//   O1  Clients of higher priority come first; among equals, the client that was read longest ago.
//   O2  One of the clients that were left out for `patience` is read regardless. So no client waits forever, in
//       particular one whose next request is more urgent than its latest. A crowd of less urgent clients delays no one.
//
// Thread safety: not thread-safe. An I/O thread owns the object.
#pragma once

#include <chrono>
#include <cstdint>

#include "server/calls/executor.hpp"

namespace tutti::server {

/// The state of one client in this order.
class reading_turn {
public:
    static constexpr std::chrono::milliseconds patience{100};

    void note_call(int priority) noexcept {
        urgency_ = priority;
        has_called_ = true;
    }
    /// Notes any other request of the client.
    void note_command() noexcept {
        if (!has_called_) urgency_ = procedure_options{}.priority;
    }
    /// `which` is a number that grows with each read of any client.
    void note_read(std::uint64_t which) noexcept {
        latest_ = which;
        left_out_since_ = never;
    }
    void leave_out(instant now) noexcept {
        if (left_out_since_ == never) left_out_since_ = now;
    }

    /// `in_turn`: ignores the urgency in O1.
    [[nodiscard]] bool goes_before(const reading_turn& other, bool in_turn) const noexcept {
        return !in_turn && urgency_ != other.urgency_ ? urgency_ > other.urgency_ : latest_ < other.latest_;
    }
    [[nodiscard]] bool is_late(instant now) const noexcept {
        return left_out_since_ != never && now - left_out_since_ >= patience;
    }

private:
    static constexpr instant never = instant::max();

    int urgency_ = highest_priority;  // a new client may be an operator
    bool has_called_ = false;
    std::uint64_t latest_ = 0;
    instant left_out_since_ = never;
};

}  // namespace tutti::server
