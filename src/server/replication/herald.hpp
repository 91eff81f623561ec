// Tells former leaders that they lead no more. Whom, is in the log, so that a start goes on with it: until such a
// leader has heard, it may answer calls that nobody else has.
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
#include "server/replication/link.hpp"
#include "tutti/server/service.hpp"

namespace tutti::server {

/// Says that a server leads in this term; whoever leads in an earlier one stops. Returns the other server's term, if
/// that leads in a later one, or 0. @throws as link::ask
std::uint64_t tell_term(link& other, std::uint64_t term, const std::string& own_address);

class herald {
public:
    /// Both live longer. `how.follow` says who this server is there, and its password, which the log does not keep.
    herald(const settings& how, journal::journal& log) : how_{how}, log_{log} {}
    ~herald() { stop(); }
    herald(const herald&) = delete;
    herald& operator=(const herald&) = delete;

    /// Begins to tell those whom the log names, as soon as they answer. `own_address`: of this server, for people.
    /// REQUIRES: it is not at it. @throws std::system_error, journal::store_error
    void start(std::string own_address);
    /// Idempotent.
    void stop() noexcept;

private:
    void work();
    /// Those whom the log names.
    [[nodiscard]] std::vector<journal::former_leader> waiting();
    void tell(const journal::former_leader& whom);
    void note_failure(const std::string& address, const std::string& why, bool is_refused);
    /// False: it is to stop.
    bool pause(std::chrono::milliseconds longest);

    const settings& how_;
    journal::journal& log_;
    std::string own_address_;
    std::map<std::string, std::string> failures_;  // as the operator was told them last, by address
    std::thread thread_;
    std::atomic<bool> stopping_{false};  // changed under the lock, so that what pauses sees it
    std::mutex mutex_;
    std::condition_variable changed_;
};

}  // namespace tutti::server
