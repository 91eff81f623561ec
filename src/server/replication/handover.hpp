// Hands over leadership from a leader to one of its followers, without losing an answered call. Clients continue to
// call meanwhile.
//
//   follower lags     -> requests that would write stay unread -> positions are reserved no more: the log ends at P
//   -> the follower has everything before P -> ORDER: this server's log says that the next term is another server's,
//      and the answer to the follower's next fetch is LEAD, again and again
//   -> the follower leads, in a later term: this server follows it
//   \-> the follower promises not to follow the order: this server continues to lead, in a still later term
//   \-> the follower does not answer: neither server accepts writes, and this server asks until the follower answers or
//       an operator decides
//
// Before ORDER, this server continues to lead after any failure, or at the timeout. After ORDER, the follower may lead,
// whatever this server has heard from the follower. So this server requests the outcome from the follower, and repeats
// the request if the answer is lost. The follower decides once, under the lock that a promotion holds, and keeps its
// promise (leadership::answer_order). If this server restarts in between, it finds in its log that another server leads
// (replication.hpp, REP5).
//
// Thread safety: one thread at a time calls `begin` and `stop`.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

#include "server/journal/journal.hpp"
#include "server/replication/leader_connection.hpp"
#include "tutti/server/endpoint.hpp"
#include "tutti/server/settings.hpp"

namespace tutti::server {

class handover {
public:
    /// The functions of the server that the handover uses. The handover calls them on its own thread.
    struct host {
        std::function<bool()> is_idle;  ///< returns true if no call runs or waits for a worker
        /// Makes this server follow the given server. REQUIRES: as journal::yield_lead_to.
        std::function<void(const leader_settings&)> follow;
        std::function<void(severity, const std::string&)> log;
    };

    handover(const settings& how, journal::journal& log, host of) : how_{how}, log_{log}, host_{std::move(of)} {}
    ~handover() { stop(); }
    handover(const handover&) = delete;
    handover& operator=(const handover&) = delete;

    /// Begins a handover. `to`: HOST:PORT by which this server reaches the follower; empty: the follower that has the
    /// most calls. `time_limit`: the time limit until the other server leads. @throws std::runtime_error  a handover is
    /// in progress; std::system_error
    std::shared_ptr<const journal::handover_result> begin(std::string to, std::chrono::milliseconds time_limit);
    /// Stops the handover at its current step. If ORDER was not sent, this server continues to lead. Otherwise the
    /// outcome stays in doubt. Idempotent.
    void stop() noexcept;
    [[nodiscard]] bool is_in_progress() const noexcept { return result_ && !result_->is_over; }
    /// Returns true if a follower was ordered to lead, and the outcome is unknown because the follower has not
    /// answered.
    [[nodiscard]] bool is_in_doubt() const noexcept { return in_doubt_.load(); }
    /// Makes this server lead again, because an operator knows that the other server does not lead. Returns the address
    /// of the other server, which must be notified. REQUIRES: is_in_doubt(). @throws log_store_error
    leader_settings resume_leading();

private:
    using clock = std::chrono::steady_clock;
    struct successor {
        leader_settings at;
        std::string address;
        std::uint64_t id = 0;
    };
    void work(const std::string& to);
    void hand_over(const std::string& to);
    [[nodiscard]] successor find(const std::string& to);
    [[nodiscard]] std::string address_of_best();
    /// Requests the outcome of an order from a server. Returns the server's answer.
    [[nodiscard]] std::string ask(const leader_settings& whom, std::uint64_t order, std::string_view what) const;
    void await_position(const successor& h, std::uint64_t position);
    void await_idle();
    [[nodiscard]] std::uint64_t end_log(const successor& h);
    void order(const successor& h, std::uint64_t position);
    void resolve(const successor& h);
    void report_doubt(const successor& h, const std::string& failed);
    void finish(std::string why_not);
    void pause(std::chrono::milliseconds time_limit);

    const settings& how_;
    journal::journal& log_;
    const host host_;
    std::atomic<bool> stopping_{false}, in_doubt_{false};
    clock::time_point until_{};
    bool is_ordered_ = false;
    std::uint64_t number_ = 0;   // the number of the order
    leader_settings ordered_{};  // the follower that has the order
    std::shared_ptr<journal::handover_result> result_;
    std::thread thread_;
};

}  // namespace tutti::server
