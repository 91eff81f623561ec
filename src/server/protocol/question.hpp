// What a client asks for that the journal's thread for followers answers: WAIT, REPLICAOF NO ONE, FAILOVER, and what
// servers that follow or lead ask each other (FOLLOW).
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "server/journal/replication.hpp"

namespace tutti::server {

class request;
struct session;

class question final : public journal::inquiry {
public:
    explicit question(request& of) noexcept : of_{of} {}
    void answered(std::string answer) noexcept override;
    [[nodiscard]] bool is_left() const noexcept override;
    void forget() noexcept {
        what = kind::none;
        is_asked = false;
        from = {};
        position = wanted = 0;
        until = clock::time_point::max();
        task = {};
        has_come = {};
    }

    bool is_asked = false;  ///< it has been handed in

private:
    request& of_;
};

/// Where the commands about followers find what they are about.
struct replicas {
    journal::journal* log = nullptr;         ///< null: there is none, and so are there no followers
    std::function<std::string()> promote{};  ///< returns why it cannot be; may take a while
    /// Begins to hand the lead over to a follower, which is named, or the one that has most, within a time.
    /// @throws std::runtime_error  it cannot begin
    std::function<std::shared_ptr<const journal::handover_outcome>(std::string, std::chrono::milliseconds)> hand_over{};
    /// What has become of an order to lead, and with `true` that this server must not follow it any more.
    std::function<std::string(std::uint64_t, bool)> answer_order{};
    std::string password{};    ///< of followers; empty: the machine's secret (machine_secret.hpp)
    bool open_to_all = false;  ///< followers need no credential
};

/// Whether that is `FOLLOW AUTH`, by which a connection shows the credential of followers.
[[nodiscard]] bool is_login_of_follower(std::span<const std::string_view> given) noexcept;
/// Looks at that credential: returns whether it is right, after the answer.
[[nodiscard]] bool admit_follower(const replicas& of, std::span<const std::string_view> given, reply& to);
[[nodiscard]] bool is_about_followers(std::span<const std::string_view> given) noexcept;
/// Makes `r` ready to be asked. False: it is answered. @throws bad_argument
[[nodiscard]] bool take_question(const replicas& of, const session& who, std::span<const std::string_view> given,
                                 request& r, reply& to);
/// ROLE, as Redis has it.
void tell_role(const replicas& of, reply& to);

}  // namespace tutti::server
