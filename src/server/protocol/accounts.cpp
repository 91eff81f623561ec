#include "server/protocol/accounts.hpp"

#include <crypt.h>
#include <fnmatch.h>

#include <algorithm>
#include <stdexcept>

namespace tutti::server {

bool account::may_call(const std::string& procedure) const noexcept {
    return std::ranges::any_of(configured.allowed_procedures, [&](const std::string& pattern) {
        return ::fnmatch(pattern.c_str(), procedure.c_str(), 0) == 0;
    });
}

bool account::try_admit(instant now) noexcept {
    if (configured.rate == 0) return true;
    constexpr std::int64_t second = 1'000'000'000;
    const std::int64_t at = std::chrono::nanoseconds{now.time_since_epoch()}.count();
    const std::int64_t step = second / configured.rate;
    std::int64_t before = even_pace_.load(std::memory_order_relaxed);
    std::int64_t after = 0;
    do {
        after = std::max(before, at) + step;
        if (after - at > second) return false;
    } while (!even_pace_.compare_exchange_weak(before, after, std::memory_order_relaxed));
    return true;
}

accounts::accounts(const std::vector<user>& all) {
    for (const user& u : all) {
        const auto refuse = [&](const std::string& why) {
            throw std::invalid_argument{"user '" + u.name + "': " + why};
        };
        if (u.name.empty() || std::ranges::any_of(u.name, [](char c) { return c <= ' ' || c > '~'; }))
            refuse("a name is one printable word");
        if (u.max_priority < 0 || u.max_priority > highest_priority)
            refuse("the highest priority is from 0 to " + std::to_string(highest_priority));
        if (::crypt_checksalt(u.password.c_str()) != CRYPT_SALT_OK)
            refuse("the password is not a secure hash; `mkpasswd -m yescrypt` makes one");
        has_operators_ = has_operators_ || u.is_admin;
        if (!by_name_.try_emplace(u.name, u).second) refuse("two users have this name");
    }
}

account* accounts::find(std::string_view name) noexcept {
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? nullptr : &found->second;
}

}  // namespace tutti::server
