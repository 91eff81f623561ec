// A client: its stream, what it has sent and not been cut into requests yet, its requests in their order, and answers
// that it has not read yet.
//
//   open -> quitting (it said QUIT, was malformed, or the server ends)   no request is taken any more
//        -> lingering (all is answered and written, our side is closed)  what it still sends is thrown away, and
//                                                                        wins it no time
//        -> gone
//
// A connection that is closed while the other side has sent something that was not read resets it, and what was written
// last is lost on the way; hence lingering.
//
// Thread safety: none; its I/O thread owns it.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "server/net/reading_order.hpp"
#include "server/net/stream.hpp"
#include "server/protocol/byte_queue.hpp"
#include "server/protocol/request.hpp"
#include "server/protocol/request_parser.hpp"
#include "server/protocol/session.hpp"

namespace tutti::server {

class connection {
public:
    connection(std::unique_ptr<stream> s, instant now, byte_budget& budget)
        : share{budget}, io{std::move(s)}, arrived{now}, last_request{now}, last_progress{now}, last_written{now} {}

    /// Of what it holds itself, as of the latest look at it.
    byte_share share;
    /// What came in and was not understood yet.
    byte_queue in;
    /// What goes out and was not taken yet.
    byte_queue out;
    [[nodiscard]] std::size_t unsent() const noexcept { return out.size(); }
    /// Bytes of answers that it makes the server hold, with those that wait for an earlier one.
    [[nodiscard]] std::size_t held() const noexcept { return out.size() + waiting_; }
    /// Returns all bytes that it makes the server hold: its requests and its answers.
    [[nodiscard]] std::size_t footprint() const noexcept { return footprint_of_buffers() + charged_; }
    /// Returns those of them that do not belong to a request that was cut.
    [[nodiscard]] std::size_t footprint_of_buffers() const noexcept {
        return in.size() + out.size() + (who.queued ? who.queued->bytes() : 0);
    }
    /// Counts what `r` holds now. REQUIRES: `r` is in the order, and not with the executor.
    void charge(request& r) noexcept {
        charged_ += r.footprint() - r.charged;  // modulo 2^64, so it may be less
        r.charged = r.footprint();
    }

    /// The other side has gone, or at least said that it sends no more: its calls that wait for something wait in vain.
    void leave() noexcept {
        leaving = true;
        for (request* r = first_; r != nullptr; r = r->behind) r->abandon();
    }

    // ---- requests
    void line_up(request& r) noexcept {
        if (leaving) r.abandon();
        r.from = this;
        r.behind = nullptr;
        (last_ == nullptr ? first_ : last_->behind) = &r;
        last_ = &r;
        ++in_flight;
    }
    /// Whether all that is left are calls that go on without their client: one that has left is not kept for those.
    [[nodiscard]] bool only_outliving() const noexcept {
        for (const request* r = first_; r != nullptr; r = r->behind) {
            // One that asks to be let in is no call.
            if (r->answered || r->what.which == nullptr || !r->what.which->what.options.outlives_client) return false;
        }
        return first_ != nullptr && unsent() == 0;
    }
    /// Its answer may go out in its turn. REQUIRES: it is in the order.
    void mark_answered(request& r) noexcept {
        r.answered = true;
        waiting_ += r.answer.size();
        charge(r);
    }
    /// The first one if it is answered.
    [[nodiscard]] const request* first_answered() const noexcept {
        return first_ != nullptr && first_->answered ? first_ : nullptr;
    }
    /// The first one if it asks the journal and has not been handed in: what came before it is over.
    [[nodiscard]] request* first_to_ask() const noexcept {
        const bool asks = first_ != nullptr && !first_->answered && first_->asks.what != question::kind::none;
        return asks && !first_->asks.is_asked ? first_ : nullptr;
    }
    request* take_first() noexcept {
        request* const r = first_;
        if (r == nullptr) return nullptr;
        first_ = r->behind;
        if (first_ == nullptr) last_ = nullptr;
        --in_flight;
        if (r->answered) waiting_ -= r->answer.size();
        charged_ -= std::exchange(r->charged, 0);
        return r;
    }
    /// REQUIRES: `old` is in the order.
    void replace(request& old, request& by) noexcept {
        request** link = &first_;
        while (*link != &old) link = &(*link)->behind;
        *link = &by;
        by.behind = old.behind;
        if (last_ == &old) last_ = &by;
        by.from = this;
        charged_ -= std::exchange(old.charged, 0);
        old.from = nullptr;
        old.behind = nullptr;
    }

    std::unique_ptr<stream> io;
    request_parser parser;
    session who;
    reading_turn turn;
    std::size_t in_flight = 0;
    bool touched = false;  // in the I/O thread's list of those to be looked after in this round
    bool leaving = false;  // the other side has said that it sends no more
    bool ended = false;    // and all that it had sent has been read
    bool lingering = false;
    bool broken = false;
    bool paused = false;         // its next request waits until `paused_until` (io_thread_fairness.cpp)
    bool waits = false;          // its next request would write, while the lead is handed over
    bool refused = false;        // while the server ends: it has been told so
    std::uint32_t interest = 0;  // what epoll watches
    const instant arrived;
    instant last_request;
    instant paused_until;
    std::optional<instant> waits_since;       // with a costly command, until it is run
    std::optional<instant> unfinished_since;  // a part of a request is there, and only its client delays the rest
    instant last_progress;                // of writing, or since when there is nothing to write; lingering: since when
    instant last_written;                 // when bytes went out, or when it came
    std::optional<instant> all_answered;  // while the server ends: since when none of its calls is under way

private:
    request* first_ = nullptr;
    request* last_ = nullptr;
    std::size_t charged_ = 0;  // bytes of requests in the order
    std::size_t waiting_ = 0;  // bytes of answered requests in the order
};

}  // namespace tutti::server
