// The users that may log in, and for each user the limits on procedures, priority and call rate.
//
// Thread safety: any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "server/calls/executor.hpp"
#include "tutti/server/settings.hpp"

namespace tutti::server {

class account {
public:
    explicit account(user u) : configured{std::move(u)} {}

    [[nodiscard]] bool may_call(const std::string& procedure) const noexcept;
    /// Returns true if one more call is within the user's rate, and counts that call. A burst may contain as many calls
    /// as the rate allows in a second.
    [[nodiscard]] bool try_admit(instant now) noexcept;

    const user configured;

private:
    // The time at which all admitted calls would have arrived at an even pace: the generic cell rate algorithm (ITU-T
    // I.371). The algorithm needs only one number, so all I/O threads can share it.
    std::atomic<std::int64_t> even_pace_{INT64_MIN / 2};  // nanoseconds of the steady clock
};

class accounts {
public:
    /// Throws for an invalid or duplicate name, and for a password that is not a crypt(5) hash or whose hash method no
    /// longer counts as safe.
    /// @throws std::invalid_argument
    explicit accounts(const std::vector<user>& all);

    [[nodiscard]] bool empty() const noexcept { return by_name_.empty(); }
    /// Calls `take` with each account.
    template <class Taker>
    void visit(const Taker& take) const {
        for (const auto& [name, a] : by_name_) take(a);
    }
    /// Returns true if any of the users has the rights of an admin.
    [[nodiscard]] bool has_operators() const noexcept { return has_operators_; }
    /// Returns the account with this name, or null.
    [[nodiscard]] account* find(std::string_view name) noexcept;
    /// Returns the hash that the password of an unknown user is compared with, so that the check takes as long as for a
    /// known user.
    /// REQUIRES: !empty()
    [[nodiscard]] const std::string& decoy() const noexcept { return by_name_.begin()->second.configured.password; }

private:
    bool has_operators_ = false;
    std::map<std::string, account, std::less<>> by_name_;  // a map, because accounts must keep their addresses
};

}  // namespace tutti::server
