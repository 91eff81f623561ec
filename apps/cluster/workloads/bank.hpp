// Money goes from account to account; a reader looks at two of them. HyflowCPP's bank, section 6.2.1.1.
#pragma once

#include "cluster/workloads/accounts.hpp"

namespace cluster_app {

class bank final : public accounts {
public:
    bank(const extent& size, tutti::cluster::node& here) : accounts{size.objects, here}, reads_{size.reads} {}
    void run_one(random_source& dice) override;

private:
    const unsigned reads_;
};

}  // namespace cluster_app
