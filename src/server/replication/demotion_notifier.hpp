// Notifies former leaders that they no longer lead. The log lists these servers, so a restarted server continues to
// notify them. Until a former leader hears of the new term, it may answer calls that exist only in its own log.
//
// Thread safety: one thread at a time.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include "server/journal/journal.hpp"
#include "server/replication/leader_connection.hpp"
#include "tutti/server/settings.hpp"

namespace tutti::server {

/// Notifies a server that another server leads in this term. If the notified server leads in an earlier term, it then
/// stops leading. Returns the notified server's term if it leads in a later term, or 0. @throws as
/// leader_connection::execute
std::uint64_t announce_term(leader_connection& other, std::uint64_t term, const std::string& own_address);

class demotion_notifier {
public:
    /// The arguments must outlive this object. `how.follow` has this server's credentials on other servers, including
    /// the password, which the log does not contain.
    demotion_notifier(const settings& how, journal::journal& log) : how_{how}, log_{log} {}
    ~demotion_notifier() { stop(); }
    demotion_notifier(const demotion_notifier&) = delete;
    demotion_notifier& operator=(const demotion_notifier&) = delete;

    /// Starts to notify the servers that the log lists. Each server is notified as soon as it answers. `own_address`:
    /// this server's address, for users. REQUIRES: the notifier is not running. @throws std::system_error,
    /// journal::log_store_error
    void start(std::string own_address);
    /// Stops. Idempotent.
    void stop() noexcept;

private:
    void work();
    /// Returns the former leaders that the log lists.
    [[nodiscard]] std::vector<journal::former_leader> unnotified();
    void notify(const journal::former_leader& whom);
    void record_failure(const std::string& address, const std::string& why, bool is_refused);
    /// Waits for `time_limit`. Returns false if the thread is to stop.
    bool pause(std::chrono::milliseconds time_limit);

    const settings& how_;
    journal::journal& log_;
    std::string own_address_;
    std::map<std::string, std::string> failures_;  // the latest failures that were logged, by address
    std::thread thread_;
    std::atomic<bool> stopping_{false};  // changed under mutex_, so that pause() sees the change
    std::mutex mutex_;
    std::condition_variable changed_;
};

}  // namespace tutti::server
