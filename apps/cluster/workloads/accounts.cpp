#include "cluster/workloads/accounts.hpp"

#include <fmt/format.h>

namespace cluster_app {

void accounts::fill() {
    publish_share<account>(here_, kind::account, count_, [](std::uint64_t) { return account{initial}; });
}

std::string accounts::check() {
    std::int64_t sum = 0;
    std::string wrong;
    visit_all<account>(here_, kind::account, count_, [&](std::uint64_t i, const account& a) {
        sum += a.balance;
        if (a.balance < 0 && !lends()) wrong = fmt::format("account {} owes {}", i, -a.balance);
    });
    const std::int64_t right = static_cast<std::int64_t>(count_) * initial;
    if (sum != right) return fmt::format("the accounts hold {}, and not {}", sum, right);
    return wrong;
}

}  // namespace cluster_app
