// A client's command that the journal's thread for followers answers: WAIT, REPLICAOF NO ONE, FAILOVER, and the
// commands of servers that follow or lead (FOLLOW).
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "server/journal/replication.hpp"
#include "tutti/server/settings.hpp"

namespace tutti::server {

class request;
class service_control;
struct session;

class replication_command final : public journal::deferred_request {
public:
    explicit replication_command(request& of) noexcept : of_{of} {}
    void complete(std::string answer) noexcept override;
    [[nodiscard]] bool is_client_gone() const noexcept override;
    void reset() noexcept {
        what = kind::none;
        is_submitted = false;
        fetched = {};
        position = min_followers = 0;
        until = clock::time_point::max();
        task = {};
        has_happened = {};
    }

    bool is_submitted = false;  ///< the replication thread has the command

private:
    request& of_;
};

/// The objects that the commands about followers need.
struct replication_access {
    journal::journal* log;  ///< null: there is no log, and so there are no followers
    service_control& control;
};

/// Returns true for the command `FOLLOW AUTH`, by which a connection presents the credential of followers.
[[nodiscard]] bool is_login_of_follower(std::span<const std::string_view> given) noexcept;
/// Checks the credential of followers. Writes the answer, and returns true if the credential is right. Without a
/// configured password, the credential is the machine's secret (machine_secret.hpp).
[[nodiscard]] bool admit_follower(const settings& how, std::span<const std::string_view> given, reply& to);
[[nodiscard]] bool is_replication_command(std::span<const std::string_view> given) noexcept;
/// Prepares `r.deferred` for submission. Returns false if `r` is already answered. @throws bad_argument
[[nodiscard]] bool prepare_replication_command(const replication_access& of, const session& who,
                                               std::span<const std::string_view> given, request& r, reply& to);
/// Answers ROLE, in Redis's format. `log`: null if there is no log.
void write_role(journal::journal* log, reply& to);

}  // namespace tutti::server
