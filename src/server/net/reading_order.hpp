// In which order an I/O thread reads the clients that have sent something, where it does not read them all at once.
// What they have sent shows its priority when it has been read and cut, which is what the order is to save; so the
// priority of what a client has called last stands for what it sends next.
//
//   O1  The more urgent first; among equals, who was read longest ago.
//   O2  One of those that have been left out for `patience` is read all the same: nobody waits for ever, least of all a
//       client that wants something else than before, and a crowd that is less urgent holds nobody up.
//
// Thread safety: none; an I/O thread owns it.
#pragma once

#include <chrono>
#include <cstdint>

#include "server/calls/executor.hpp"

namespace tutti::server {

/// Of one client.
class reading_turn {
public:
    static constexpr std::chrono::milliseconds patience{100};

    void note_call(int priority) noexcept {
        urgency_ = priority;
        has_called_ = true;
    }
    /// Anything else that it asks for.
    void note_command() noexcept {
        if (!has_called_) urgency_ = procedure_options{}.priority;
    }
    /// `which`: a number that grows with each read of any client.
    void note_read(std::uint64_t which) noexcept {
        latest_ = which;
        left_out_since_ = never;
    }
    void leave_out(instant now) noexcept {
        if (left_out_since_ == never) left_out_since_ = now;
    }

    /// `in_turn`: without O1's urgency.
    [[nodiscard]] bool goes_before(const reading_turn& other, bool in_turn) const noexcept {
        return !in_turn && urgency_ != other.urgency_ ? urgency_ > other.urgency_ : latest_ < other.latest_;
    }
    [[nodiscard]] bool is_late(instant now) const noexcept {
        return left_out_since_ != never && now - left_out_since_ >= patience;
    }

private:
    static constexpr instant never = instant::max();

    int urgency_ = highest_priority;  // a client that has just come may be an operator
    bool has_called_ = false;
    std::uint64_t latest_ = 0;
    instant left_out_since_ = never;
};

}  // namespace tutti::server
