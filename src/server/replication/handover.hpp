// Hands a leader's part over to one of its followers, while clients go on to call, and loses no call that was answered.
//
//   follower lags      -> requests that would write are left unread -> positions are drawn no more: the log ends at P
//   -> the follower has all before P -> ORDER: this server's log says that the next term is another's, and the
//   follower's next question is answered by LEAD, again and again
//   -> the follower leads, in a later term: this server follows it
//   \-> the follower promises not to follow the order: this server leads on, in a later term still
//   \-> the follower does not answer: nobody writes, and this server asks until it answers or an operator decides
//
// Before ORDER every failure and the end of the time have this server lead on as before. After ORDER the follower may
// lead, whatever this server has heard of it: so this server asks, and an answer that was lost on its way is asked for
// again. The follower decides by its first look: what it has promised, it keeps under the lock that it leads under
// (service::body::promote). A start in between finds in the log that another server leads (replication.hpp, T5).
//
// Thread safety: `begin` and `stop` by one thread at a time.
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
#include "server/replication/link.hpp"
#include "tutti/server/endpoint.hpp"
#include "tutti/server/service.hpp"

namespace tutti::server {

class handover {
public:
    /// What it asks of the server. Called on its thread.
    struct host {
        std::function<bool()> is_idle;  ///< no call runs or waits for a worker
        /// From here on this server follows that one. REQUIRES: as journal::yield_to.
        std::function<void(const leader_settings&)> follow;
        std::function<void(severity, const std::string&)> tell;
    };

    handover(const settings& how, journal::journal& log, host of) : how_{how}, log_{log}, of_{std::move(of)} {}
    ~handover() { stop(); }
    handover(const handover&) = delete;
    handover& operator=(const handover&) = delete;

    /// Begins. `to`: HOST:PORT of a follower, as this server reaches it; empty: the one that has most. `longest`: until
    /// the other server leads. @throws std::runtime_error  one is under way; std::system_error
    std::shared_ptr<const journal::handover_outcome> begin(std::string to, std::chrono::milliseconds longest);
    /// Ends it where it is: before ORDER this server leads on; after that it is left in doubt. Idempotent.
    void stop() noexcept;
    [[nodiscard]] bool is_under_way() const noexcept { return outcome_ && !outcome_->is_over; }
    /// A follower was ordered to lead, and has not answered since.
    [[nodiscard]] bool is_in_doubt() const noexcept { return in_doubt_.load(); }
    /// An operator knows that the other server does not lead: this one does. Returns where the other one is, which has
    /// to be told. REQUIRES: is_in_doubt(). @throws store_error
    leader_settings lead_anyway();

private:
    using clock = std::chrono::steady_clock;
    struct heir {
        leader_settings at;
        std::string address;
        std::uint64_t id = 0;
    };
    void work(const std::string& to);
    void hand_over(const std::string& to);
    [[nodiscard]] heir find(const std::string& to);
    [[nodiscard]] std::string address_of_best();
    /// What a server answers to the question what has become of an order.
    [[nodiscard]] std::string ask(const leader_settings& whom, std::uint64_t order, std::string_view what) const;
    void await_position(const heir& h, std::uint64_t position);
    void await_idle();
    [[nodiscard]] std::uint64_t end_log(const heir& h);
    void order(const heir& h, std::uint64_t position);
    void resolve(const heir& h);
    void tell_doubt(const heir& h, const std::string& failed);
    void finish(std::string why_not);
    void pause(std::chrono::milliseconds longest);

    const settings& how_;
    journal::journal& log_;
    const host of_;
    std::atomic<bool> stopping_{false}, in_doubt_{false};
    clock::time_point until_{};
    bool is_ordered_ = false;
    std::uint64_t number_ = 0;   // of the order
    leader_settings ordered_{};  // who has it
    std::shared_ptr<journal::handover_outcome> outcome_;
    std::thread thread_;
};

}  // namespace tutti::server
