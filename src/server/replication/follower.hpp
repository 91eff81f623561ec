// A server that follows another: it asks the leader for what comes after its own log, appends that, and runs it as a
// start runs its log. Between two pieces the data are as after the last call of the log, so a follower that is promoted
// has what its log has, and a call that only reads sees a beginning of what the leader has committed.
//
//   following <-> away        the leader does not answer: it is asked again
//             \-> at a loss   it refuses for good, or a call cannot be run again: the operator is told what to do
//             \-> elsewhere   that server follows another one now, which is asked instead; one that answers leads
//             \-> ordered     the leader hands its part over (handover.hpp): the service is told, which promotes this
//             \-> promoted    by stop(); then the former leader is told of the new term (herald.hpp)
//
// The leader that the options name is asked again whenever another one does not answer or refuses: it may lead again,
// or know of a later leader. The log remembers the one that was found (journal::redirection), for the next start.
//
// Thread safety: `look` any thread; the rest one at a time.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "server/calls/catalog.hpp"
#include "server/calls/snapshots.hpp"
#include "server/journal/journal.hpp"
#include "server/journal/stream.hpp"
#include "server/replication/link.hpp"
#include "tutti/server/service.hpp"

namespace tutti::server {

class follower {
public:
    /// `keep` gets the answers of calls with an ID; `take_order` the number of an order to lead, again and again while
    /// the leader repeats it, and must not wait. All live longer than this. @throws store_error
    follower(const settings& how, leader_settings leader, journal::journal& log, const catalog& procedures,
             std::function<void(const journal::kept_answer&)> keep, std::function<void(std::uint64_t)> take_order);
    ~follower();
    follower(const follower&) = delete;
    follower& operator=(const follower&) = delete;

    /// Makes the log one that the leader's can be appended to, by a copy where that is needed. Without the leader it
    /// has to have something. REQUIRES: the log has not been read yet. @throws std::runtime_error
    void catch_up();
    /// `address`: of this server, for people. @throws std::system_error
    void start(std::string address);
    /// After a stop, which was for a promotion that failed.
    void go_on();
    /// Asks no more; what is in the log has been run then. Idempotent. Returns why this server cannot lead; empty: it
    /// can.
    std::string stop();
    /// The one that it follows now. REQUIRES: stop(), or that it has not started.
    [[nodiscard]] const leader_settings& leader() const noexcept { return found_; }
    /// By which leaders know this server.
    [[nodiscard]] std::uint64_t id() const noexcept { return id_; }
    /// A later term than any that was heard of begins with this one.
    [[nodiscard]] std::uint64_t latest_term();
    /// The last snapshot of what has been run. REQUIRES: stop().
    void keep_snapshot() noexcept;

    [[nodiscard]] journal::link_figures look() const;

private:
    using clock = std::chrono::steady_clock;
    class position;
    static std::uint64_t id_in(journal::journal& log);
    void work();
    [[nodiscard]] journal::pull state();
    /// Tells a leader of an older term that it leads no more; then it refuses what is asked next.
    void greet(link& leader);
    [[nodiscard]] journal::piece ask(link& leader, const journal::pull& from, std::chrono::milliseconds longest);
    void copy(link& leader);
    /// Where the leader refuses this log: shows all branches. @throws refused_by_leader  the leader has lost calls
    void show_branches(link& leader, const refused_by_leader& refusal);
    /// `end`: of the log before it.
    void take(const journal::piece& p, std::uint64_t end);
    void run(const journal::piece& p);
    void note(bool up, const std::string& trouble);
    /// Whether the server that was asked names another one, which is to be asked now.
    [[nodiscard]] bool goes_elsewhere(const refused_by_leader& refusal);
    /// Asks the other one of the two that may lead: the one that was named first, and the one that was found since.
    void go_back();
    /// The server that was asked leads.
    void settle();
    /// False: it is to stop.
    bool pause(std::chrono::milliseconds longest);
    void start_thread(std::function<void()> what);

    const settings& how_;
    const leader_settings named_;  // by the options, or by the hand-over of this server's lead
    leader_settings found_;        // that has led latest, as far as this server knows
    leader_settings asked_;        // now
    unsigned hops_ = 0;            // from server to server, until one leads
    journal::journal& log_;
    const catalog& procedures_;
    const std::function<void(const journal::kept_answer&)> keep_;
    const std::function<void(std::uint64_t)> take_order_;
    const std::uint64_t id_;
    std::string address_;
    std::uint64_t upto_ = 1, upto_branch_ = 0;
    std::mutex piece_;                      // held while a piece is appended and run, and while the process is copied
    std::unique_ptr<snapshots> snapshots_;  // from the first go_on() on
    std::thread thread_;
    std::atomic<bool> stopping_{false};  // changed under the lock, so that what pauses sees it

    mutable std::mutex mutex_;  // of what follows
    std::condition_variable changed_;
    std::string failed_;                       // a call could not be run again
    std::map<std::string, std::string> told_;  // troubles since a leader has answered, by the server's address
    journal::link_figures figures_;
    clock::time_point heard_{};
};

}  // namespace tutti::server
