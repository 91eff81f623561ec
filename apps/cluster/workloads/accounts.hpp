// Accounts with transfers in between: the total amount of money is constant.
#pragma once

#include <cstdint>
#include <string>

#include "cluster/workload.hpp"

namespace cluster_app {

struct account {
    std::int64_t balance = 0;
};

class accounts : public workload {
public:
    static constexpr std::int64_t initial = 1000;

    void fill() override;
    std::string check() override;

protected:
    accounts(std::uint64_t count, tutti::cluster::node& here) : here_{here}, count_{count} {}

    [[nodiscard]] tutti::cluster::ref<account> any(random_source& dice) const {
        return object_at<account>(here_, kind::account, dice.below(count_));
    }
    /// Returns true if accounts may have negative balances.
    [[nodiscard]] virtual bool lends() const { return true; }

private:
    tutti::cluster::node& here_;
    const std::uint64_t count_;
};

}  // namespace cluster_app
