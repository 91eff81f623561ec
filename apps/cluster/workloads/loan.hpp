// An account borrows from five others, in blocks nested in each other, until it has the wanted amount. A reader reads
// six accounts. HyflowCPP's loan, section 6.2.2.2.
#pragma once

#include <array>
#include <span>

#include "cluster/workloads/accounts.hpp"

namespace cluster_app {

class loan final : public accounts {
public:
    loan(const extent& size, tutti::cluster::node& here) : accounts{size.objects, here}, reads_{size.reads} {}
    void run_one(random_source& dice) override;

private:
    static constexpr std::size_t lenders = 5;
    struct lender {
        tutti::cluster::ref<account> at;
        std::int64_t percent;  // of the remaining amount
    };

    [[nodiscard]] bool lends() const override { return false; }
    static std::int64_t borrow(std::span<const lender> from, std::int64_t wanted);

    const unsigned reads_;
};

}  // namespace cluster_app
