// A server that follows another server. The follower fetches the entries after the end of its own log from the leader,
// appends them, and runs their calls like the calls of its log at a start. Between two chunks, the data are the result
// of all calls in the log. So the data of a promoted follower contain everything in its log, and a read-only call sees
// a prefix of what the leader has committed.
//
//   following <-> away       the leader does not answer, or refuses for a while: the follower tries again after 200 ms
//            <-> refused     the leader refuses permanently: the server logs what to do, and the follower tries again
//                            after 2 s. In catch_up(), the start fails instead
//            \-> stopped     a call cannot be run again, or the log is broken: the follower stops until a restart, and
//                            this server cannot lead
//            \-> elsewhere   the leader now follows another server: the follower connects to that server. A server
//                            that answers a fetch is the leader
//            \-> ordered     the leader hands over leadership (handover.hpp): leadership.hpp promotes this server
//            \-> promoted    by stop(); then the former leader is notified of the new term (demotion_notifier.hpp)
//
// If a leader that was found by a redirection does not answer or refuses, the follower again tries the server in the
// options. That server may lead again, or may know a later leader. The log records the leader that was found
// (journal::redirection), for the next start.
//
// Thread safety: any thread may call `status`; one thread at a time calls the rest.
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
#include "server/calls/snapshotter.hpp"
#include "server/journal/journal.hpp"
#include "server/journal/stream.hpp"
#include "server/replication/leader_connection.hpp"
#include "tutti/server/settings.hpp"

namespace tutti::server {

class follower {
public:
    /// `cache_reply` receives the answers of calls with an ID. `on_order` receives the number of an order to lead each
    /// time that the leader repeats the order. `on_order` must not block. All arguments must outlive this object.
    /// @throws log_store_error
    follower(const settings& how, leader_settings leader, journal::journal& log, const catalog& procedures,
             std::function<void(const journal::stored_reply&)> cache_reply,
             std::function<void(std::uint64_t)> on_order);
    ~follower();
    follower(const follower&) = delete;
    follower& operator=(const follower&) = delete;

    /// Prepares the log so that the leader's groups can be appended to it, by copying the leader's log if necessary. If
    /// the leader cannot be reached, the log must not be empty. REQUIRES: the log has not been read yet.
    /// @throws std::runtime_error
    void catch_up();
    /// Starts to follow. `address`: this server's address, for users. @throws std::system_error
    void start(std::string address);
    /// Continues to follow after stop() was called for a promotion that then failed.
    void resume();
    /// Stops fetching. On return, everything in the log has been run. Idempotent. Returns the reason why this server
    /// cannot lead, or an empty string if it can.
    std::string stop();
    /// Returns the leader that this server follows now. REQUIRES: after stop(), or before start().
    [[nodiscard]] const leader_settings& leader() const noexcept { return found_; }
    /// Returns the number by which leaders recognize this server.
    [[nodiscard]] std::uint64_t id() const noexcept { return id_; }
    /// Returns the latest term that this server has heard of.
    [[nodiscard]] std::uint64_t latest_term();
    /// Stores a snapshot that contains all calls that have been run. REQUIRES: after stop().
    void store_snapshot() noexcept;

    [[nodiscard]] journal::leader_connection_status status() const;

private:
    using clock = std::chrono::steady_clock;
    class position;
    static std::uint64_t id_in(journal::journal& log);
    void work();
    [[nodiscard]] journal::fetch_request state();
    /// Notifies a leader of an earlier term that it no longer leads. The former leader then refuses the next command.
    void announce_latest_term(leader_connection& leader);
    [[nodiscard]] journal::log_chunk fetch(leader_connection& leader, const journal::fetch_request& from,
                                           std::chrono::milliseconds time_limit);
    void copy(leader_connection& leader);
    /// Sends all leader epochs of this log to a leader that has refused the log. @throws leader_refusal_error  if the
    /// leader has lost calls
    void send_epochs(leader_connection& leader, const leader_refusal_error& refusal);
    /// `end`: the end of the log before the chunk.
    void apply(const journal::log_chunk& p, std::uint64_t end);
    void run(const journal::log_chunk& p);
    void record_status(bool up, const std::string& error);
    /// If the refusal names another server, makes that server the next one to try and returns true.
    [[nodiscard]] bool follow_redirection(const leader_refusal_error& refusal);
    /// Switches between the two possible leaders: the server in the options, and the server found by a redirection.
    void switch_leader();
    /// Records that the current server leads.
    void confirm_leader();
    /// Waits for `time_limit`. Returns false if the thread is to stop.
    bool pause(std::chrono::milliseconds time_limit);
    void start_thread(std::function<void()> what);

    const settings& how_;
    const leader_settings configured_;  // the leader in the options, or the server that this one handed over to
    leader_settings found_;             // latest known leader
    leader_settings current_;           // the server that is tried now
    unsigned hops_ = 0;                 // redirections since the last server that led
    journal::journal& log_;
    const catalog& procedures_;
    const std::function<void(const journal::stored_reply&)> cache_reply_;
    const std::function<void(std::uint64_t)> on_order_;
    const std::uint64_t id_;
    std::string address_;
    std::uint64_t upto_ = 1, upto_epoch_ = 0;
    std::mutex apply_mutex_;  // held while a chunk is appended and run, and while the process is forked
    std::unique_ptr<snapshotter> snapshotter_;  // set from the first resume() on
    std::thread thread_;
    std::atomic<bool> stopping_{false};  // changed under mutex_, so that pause() sees the change

    mutable std::mutex mutex_;  // guards the members below
    std::condition_variable changed_;
    std::string failure_;                          // set if a call could not be run again, or the log is broken
    std::map<std::string, std::string> reported_;  // errors since a leader last answered, by the server's address
    journal::leader_connection_status status_;
    clock::time_point answered_at_{};
};

}  // namespace tutti::server
