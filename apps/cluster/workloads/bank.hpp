// Transactions transfer money between accounts, optionally several times each. A reader reads two accounts. HyflowCPP's
// bank, sections 6.2.1.1 and 6.3.
#pragma once

#include "cluster/workloads/accounts.hpp"

namespace cluster_app {

class bank final : public accounts {
public:
    bank(const extent& size, tutti::cluster::node& here)
        : accounts{size.objects, here},
          reads_{size.reads},
          inner_{size.inner},
          nesting_{size.nesting},
          singly_{size.singly} {}
    void run_one(random_source& dice) override;

private:
    struct transfer {
        tutti::cluster::ref<account> from, to;
        std::int64_t amount;
    };
    void make(tutti::tx& t, const transfer& one) const;
    /// Transfers commute, so they need no abstract lock.
    void make_open(tutti::tx& t, const transfer& one) const;

    const unsigned reads_, inner_;
    const nesting nesting_;
    const bool singly_;
};

}  // namespace cluster_app
