// This server's role among the servers that have its log: it leads, or it follows another server. An operator changes
// the role by `promote` and `hand_over`, and decides by `promote` about a handover in doubt and about lost calls. A
// leader that hands over leadership changes the role by an order. If a leader hears of a later term, it stops leading
// without this class (replication.hpp, REP2).
//
//   choose_role -> [the caller recovers the data from the log] -> assume_role -> start -> changes of the role
//   -> begin_shutdown -> store_final_snapshot -> end
//
// LED1  `handing_over_` guards the use of the handover. `changing_role_` guards promotions, and the step from leader to
//       follower. If a handover fails, its thread or `lead_in_doubt` makes this server lead again without
//       `changing_role_`. A thread that holds `changing_role_` does not wait for `handing_over_`.
// LED2  A change of the role happens between `start` and `begin_shutdown`. Each change checks `accepts_changes_` under
//       its lock. `begin_shutdown` clears the flag, acquires each lock once, and ends the handover's thread. So no
//       change is in progress when `begin_shutdown` returns, and none begins afterwards.
//
// Thread safety: any thread may call `promote`, `hand_over` and `answer_order`. One thread at a time calls the other
// functions.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "server/calls/catalog.hpp"
#include "server/calls/snapshotter.hpp"
#include "server/journal/journal.hpp"
#include "server/journal/stream.hpp"
#include "server/replication/demotion_notifier.hpp"
#include "server/replication/follower.hpp"
#include "server/replication/handover.hpp"
#include "tutti/server/settings.hpp"

namespace tutti::server {

class leadership {
public:
    /// The functions of the server that the follower and the handover use. The functions must be thread-safe.
    struct host {
        /// Stores the answer of a call that another server has run.
        std::function<void(const journal::stored_reply&)> cache_reply;
        /// Returns true if no call runs or waits for a worker.
        std::function<bool()> is_idle;
    };

    /// The first three arguments must outlive this object.
    leadership(const settings& how, journal::journal& log, const catalog& procedures, host of)
        : how_{how}, log_{log}, procedures_{procedures}, host_{std::move(of)} {}
    leadership(const leadership&) = delete;
    leadership& operator=(const leadership&) = delete;

    /// Determines this server's role from the options and from the log. A server that follows then prepares its log for
    /// the leader's groups (follower::catch_up). REQUIRES: the log has not been read yet. @throws std::runtime_error
    /// another server leads in a later term than the log's last leader epoch, and neither the options nor a handover
    /// names a leader; as follower::catch_up
    void choose_role();
    /// Prepares the log for the chosen role. A leader then accepts calls, and takes snapshots. REQUIRES: the data are
    /// recovered.
    /// @throws std::system_error, journal::log_store_error
    void assume_role();
    /// Starts to notify former leaders and, on a follower, to follow the leader. Accepts changes of the role from now
    /// on. `address`: this server's address, for users.
    /// @throws std::system_error, journal::log_store_error
    void start(std::string address);

    /// Makes this server lead, as an operator's order. Returns the reason if this fails, or an empty string.
    [[nodiscard]] std::string promote() { return promote(operators_order); }
    /// Begins to hand over leadership. As service_control::hand_over.
    [[nodiscard]] std::shared_ptr<const journal::handover_result> hand_over(std::string to,
                                                                            std::chrono::milliseconds time_limit);
    /// Answers a leader's request for the outcome of its order to lead. As service_control::answer_order.
    [[nodiscard]] std::string answer_order(std::uint64_t number, bool is_void);

    /// Refuses changes of the role from now on. Waits until the change in progress is over, and stops a handover at its
    /// current step. Idempotent.
    void begin_shutdown() noexcept;
    /// Stops following or taking snapshots, and stores a snapshot of the final state. Stores none if a handover is in
    /// doubt, or if a follower's data do not match its log. REQUIRES: begin_shutdown(), and all calls have ended.
    void store_final_snapshot();
    /// Stops notifying former leaders. REQUIRES: begin_shutdown().
    void end() noexcept { demotion_notifier_.reset(); }

private:
    static constexpr std::uint64_t operators_order = 0;

    /// Passes an order to lead to the thread that answers followers, which executes the promotion. At most one order is
    /// in progress.
    class ordered_promotion final : public journal::deferred_request {
    public:
        void complete(std::string) noexcept override { is_in_progress = false; }
        [[nodiscard]] bool is_client_gone() const noexcept override { return false; }
        std::atomic<bool> is_in_progress{false};
    };

    [[nodiscard]] std::optional<leader_settings> leader_at_start();
    void make_follower(const leader_settings& of);
    void start_snapshotter();
    void add_former_leader(const leader_settings& l);
    void report_term() const;
    void handle_order(std::uint64_t number);
    /// Promotes this server. `order`: the number of the order of a leader that hands over leadership, or
    /// `operators_order`. Returns the reason if this fails.
    [[nodiscard]] std::string promote(std::uint64_t order);
    void step_down(const leader_settings& to);
    [[nodiscard]] std::string lead_in_doubt();
    [[nodiscard]] std::string decide();

    const settings& how_;
    journal::journal& log_;
    const catalog& procedures_;
    const host host_;
    std::string address_;
    std::atomic<bool> accepts_changes_{false};  // LED2

    std::mutex changing_role_;                  // LED1; guards the members up to demotion_notifier_ (LED2)
    std::set<std::uint64_t> cancelled_orders_;  // orders of leaders that this server must not follow
    std::unique_ptr<snapshotter> snapshotter_;  // only while this server leads
    std::unique_ptr<follower> follower_;        // kept after a promotion; read without the lock for its status
    std::unique_ptr<demotion_notifier> demotion_notifier_;

    ordered_promotion ordered_;

    std::mutex handing_over_;             // LED1
    std::unique_ptr<handover> handover_;  // the last member, because its thread uses the others
};

}  // namespace tutti::server
