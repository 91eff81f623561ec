// Users: the server lets them in, and bounds what each may call, how urgently and how often.
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
#include "tutti/server/service.hpp"

namespace tutti::server {

class account {
public:
    explicit account(user u) : what{std::move(u)} {}

    [[nodiscard]] bool may_call(const std::string& procedure) const noexcept;
    /// Whether one more call keeps to the rate, of which it then is a part. A second's worth may come at once.
    [[nodiscard]] bool admit(instant now) noexcept;

    const user what;

private:
    // When all that was admitted would have come at an even pace: the generic cell rate algorithm (ITU-T I.371), which
    // needs one number, so that all I/O threads share it.
    std::atomic<std::int64_t> even_pace_{INT64_MIN / 2};  // nanoseconds of the steady clock
};

class accounts {
public:
    /// @throws std::invalid_argument  for a name that is no word or taken, and what is no hash of crypt(5) that counts
    ///                                as safe today
    explicit accounts(const std::vector<user>& all);

    [[nodiscard]] bool empty() const noexcept { return by_name_.empty(); }
    /// Calls `take` with each account.
    template <class Taker>
    void visit(const Taker& take) const {
        for (const auto& [name, a] : by_name_) take(a);
    }
    /// Returns true if one of them operates.
    [[nodiscard]] bool has_operators() const noexcept { return has_operators_; }
    /// Null: there is none.
    [[nodiscard]] account* find(std::string_view name) noexcept;
    /// What the password of a user who does not exist is compared with, so that it takes as long. REQUIRES: !empty()
    [[nodiscard]] const std::string& decoy() const noexcept { return by_name_.begin()->second.what.password; }

private:
    bool has_operators_ = false;
    std::map<std::string, account, std::less<>> by_name_;  // whose addresses stay
};

}  // namespace tutti::server
