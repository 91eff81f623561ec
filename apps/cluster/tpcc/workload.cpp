#include "cluster/tpcc/workload.hpp"

#include <cstdio>

#include <fmt/format.h>

#include "cluster/tpcc/copies.hpp"
#include "cluster/tpcc/profiles.hpp"
#include "tpcc/consistency.hpp"
#include "tpcc/driver.hpp"
#include "tpcc/populate.hpp"
#include "tpcc/report.hpp"

namespace cluster_app {
namespace {

using tpcc::profile;

tpcc::scale scale_of(const extent& how) {
    tpcc::scale size;
    size.items /= static_cast<int>(how.shrink);
    size.customers_per_district /= static_cast<int>(how.shrink);
    size.orders_per_district /= static_cast<int>(how.shrink);
    return size;
}

class tpcc_workload final : public workload {
public:
    tpcc_workload(const extent& how, tutti::cluster::node& here)
        : here_{here},
          db_{here},
          size_{scale_of(how)},
          warehouses_{static_cast<int>(how.warehouses)},
          seed_{how.seed},
          constants_{tpcc::nurand_constants::from_seed(how.seed)} {}

    void fill() override {
        // All nodes make the same rows, and share the work of publishing the objects.
        const auto loaded = tpcc::populate(size_, warehouses_, seed_, 1);
        tpcc::remote::publish(*loaded, db_, here_.number(), here_.nodes());
    }
    void run_one(random_source& dice) override {
        tpcc::input_source inputs{size_, constants_, warehouses_, tpcc::random_source{dice.next()}};
        const auto home = static_cast<tpcc::warehouse_id>(1 + dice.below(static_cast<std::uint64_t>(warehouses_)));
        switch (draw(dice)) {
            case profile::new_order: tpcc::remote::new_order(db_, inputs.new_order(home)); return;
            case profile::payment: tpcc::remote::payment(db_, inputs.payment(home)); return;
            case profile::order_status: tpcc::remote::order_status(db_, inputs.order_status(home)); return;
            case profile::delivery: tpcc::remote::delivery(db_, inputs.delivery(home)); return;
            case profile::stock_level: {
                const auto terminal = static_cast<tpcc::district_id>(1 + dice.below(tpcc::districts_per_warehouse));
                tpcc::remote::stock_level(db_, inputs.stock_level(home, terminal));
                return;
            }
        }
    }
    std::string check() override {
        const auto all = tpcc::remote::collect(db_, size_, warehouses_, constants_);
        const std::vector<tpcc::verdict> verdicts = tpcc::check_consistency(*all, tpcc::moment::after_run);
        const std::string table = tpcc::consistency_table("consistency after the run (clause 3.3.2)", verdicts);
        if (!tpcc::all_hold(verdicts)) return table;
        fmt::print("{}\n", table);
        std::fflush(stdout);
        return {};
    }

private:
    /// Draws a profile by weight, as clause 5.2.4.1 allows.
    static profile draw(random_source& dice) {
        auto card = static_cast<int>(dice.below(100));
        std::size_t p = 0;
        while (card >= tpcc::standard_mix[p]) card -= tpcc::standard_mix[p++];
        return static_cast<profile>(p);
    }

    tutti::cluster::node& here_;
    const tpcc::remote::tables db_;
    const tpcc::scale size_;
    const int warehouses_;
    const std::uint64_t seed_;
    const tpcc::nurand_constants constants_;
};

}  // namespace

std::unique_ptr<workload> make_tpcc(const extent& how, tutti::cluster::node& here) {
    return std::make_unique<tpcc_workload>(how, here);
}

}  // namespace cluster_app
