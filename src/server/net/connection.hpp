// A client's connection: its stream, the input that is not yet parsed into requests, the client's requests in order,
// and the unread answers.
//
//   open -> quitting (QUIT, malformed input, or the server ends)         the server takes no further requests
//         -> lingering (all is answered and written, our side is closed)  the server discards further input, which
//                                                                         does not extend the time limit
//         -> closed
//
// The server lingers because closing a connection with unread input resets that connection. The reset would discard the
// answers that were written last.
//
// Thread safety: not thread-safe. The I/O thread owns the connection.
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

    /// The share of the memory budget that the connection's own buffers use, as of the latest update.
    byte_share share;
    /// Input that is not parsed yet.
    byte_queue in;
    /// Output that has not been sent to the client yet.
    byte_queue out;
    [[nodiscard]] std::size_t unsent_bytes() const noexcept { return out.size(); }
    /// Returns the bytes of answers that the server holds for the client, including answers that wait for an earlier
    /// answer.
    [[nodiscard]] std::size_t held() const noexcept { return out.size() + answered_bytes_; }
    /// Returns all bytes that the server holds for the client: requests and answers.
    [[nodiscard]] std::size_t footprint() const noexcept { return footprint_of_buffers() + request_bytes_; }
    /// Returns the part of the footprint that does not belong to a parsed request.
    [[nodiscard]] std::size_t footprint_of_buffers() const noexcept {
        return in.size() + out.size() + (who.queued ? who.queued->bytes() : 0);
    }
    /// Counts the bytes that `r` holds now. REQUIRES: `r` is in the order, and the executor does not have it.
    void charge(request& r) noexcept {
        request_bytes_ += r.footprint() - r.charged;  // wraps modulo 2^64, so the sum may also decrease
        r.charged = r.footprint();
    }

    /// Abandons the client's calls, so that no call waits for an event. To be called when the client has disconnected
    /// or will send no more.
    void abandon_calls() noexcept {
        has_left = true;
        for (request* r = first_; r != nullptr; r = r->next_of_client) r->abandon();
    }

    // ---- requests
    void append(request& r) noexcept {
        if (has_left) r.abandon();
        r.client = this;
        r.next_of_client = nullptr;
        (last_ == nullptr ? first_ : last_->next_of_client) = &r;
        last_ = &r;
        ++in_flight;
    }
    /// Returns true if only calls that outlive their client are left. The server does not keep the connection of a
    /// disconnected client for such calls.
    [[nodiscard]] bool has_only_outliving_calls() const noexcept {
        for (const request* r = first_; r != nullptr; r = r->next_of_client) {
            // A login is not a call.
            if (r->answered || r->what.entry == nullptr || !r->what.entry->definition.options.outlives_client)
                return false;
        }
        return first_ != nullptr && unsent_bytes() == 0;
    }
    /// Allows the answer of `r` to be sent when all earlier answers have been sent. REQUIRES: `r` is in the order.
    void mark_answered(request& r) noexcept {
        r.answered = true;
        answered_bytes_ += r.answer.size();
        charge(r);
    }
    /// Returns the first request if it is answered, or null.
    [[nodiscard]] const request* first_answered() const noexcept {
        return first_ != nullptr && first_->answered ? first_ : nullptr;
    }
    /// Returns the first request if it is a deferred request that has not been submitted, or null. All earlier requests
    /// have been answered and removed.
    [[nodiscard]] request* first_to_defer() const noexcept {
        const bool is_deferred =
            first_ != nullptr && !first_->answered && first_->deferred.what != replication_command::kind::none;
        return is_deferred && !first_->deferred.is_submitted ? first_ : nullptr;
    }
    request* pop_first() noexcept {
        request* const r = first_;
        if (r == nullptr) return nullptr;
        first_ = r->next_of_client;
        if (first_ == nullptr) last_ = nullptr;
        --in_flight;
        if (r->answered) answered_bytes_ -= r->answer.size();
        request_bytes_ -= std::exchange(r->charged, 0);
        return r;
    }
    /// Replaces `old` by `by`. REQUIRES: `old` is in the order.
    void replace(request& old, request& by) noexcept {
        request** link = &first_;
        while (*link != &old) link = &(*link)->next_of_client;
        *link = &by;
        by.next_of_client = old.next_of_client;
        if (last_ == &old) last_ = &by;
        by.client = this;
        request_bytes_ -= std::exchange(old.charged, 0);
        old.client = nullptr;
        old.next_of_client = nullptr;
    }

    std::unique_ptr<stream> io;
    request_parser parser;
    session who;
    reading_turn turn;
    std::size_t in_flight = 0;
    bool touched = false;      // the I/O thread will update the connection in this round
    bool has_left = false;     // the client will send no more
    bool input_ended = false;  // the client will send no more, and its input has been read
    bool lingering = false;
    bool broken = false;
    bool paused = false;              // its next request waits until `paused_until` (io_thread_fairness.cpp)
    bool awaits_handover = false;     // its next request would write, and waits for the end of a handover
    bool got_shutdown_error = false;  // while the server ends: the client has got the error SHUTDOWN
    std::uint32_t interest = 0;       // events that epoll watches
    const instant arrived;
    instant last_request;
    instant paused_until;
    std::optional<instant> delayed_since;     // since when its next command, a costly one, has waited
    std::optional<instant> unfinished_since;  // since when the client has delayed the rest of a request
    // when writing last made progress, or when the output became empty; while lingering: when the lingering began
    instant last_progress;
    instant last_written;                 // when bytes last went out, or when the client connected
    std::optional<instant> all_answered;  // while the server ends: since when no call is in progress

private:
    request* first_ = nullptr;
    request* last_ = nullptr;
    std::size_t request_bytes_ = 0;   // bytes of requests in the order
    std::size_t answered_bytes_ = 0;  // bytes of answered requests in the order
};

}  // namespace tutti::server
