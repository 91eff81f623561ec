// TPC-C over a real server of each engine: several clients, then every consistency condition in one snapshot.
//
// TUTTI_ENGINE names the engine; the default is the embedded one.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <set>
#include <thread>

#include <gtest/gtest.h>
#include <tutti/tutti.hpp>

#include "cluster/engines/servers.hpp"
#include "cluster/engines/suite.hpp"
#include "cluster/tpcc/copies.hpp"
#include "cluster/tpcc/fault_injection.hpp"
#include "cluster/tpcc/profiles.hpp"
#include "support/effort.hpp"
#include "support/watchdog.hpp"
#include "tpcc/consistency.hpp"
#include "tpcc/driver.hpp"
#include "tpcc/populate.hpp"

namespace {

using namespace tpcc;
using namespace tutti::cluster::testing;
using remote::fault;
using tutti::cluster::node;

constexpr scale tiny{.items = 40, .customers_per_district = 4, .orders_per_district = 6};
constexpr int warehouses = 2;
constexpr std::uint64_t seed = 7;
const nurand_constants constants = nurand_constants::from_seed(seed);

std::string chosen() {
    const char* const name = std::getenv("TUTTI_ENGINE");
    return name == nullptr ? "memory" : name;
}

std::set<int> violated(const remote::tables& in, moment when) {
    std::set<int> which;
    for (const verdict& v : check_consistency(*remote::collect(in, tiny, warehouses, constants), when)) {
        EXPECT_GT(v.compared, 0u) << "condition " << v.condition;
        if (v.violated == 0) continue;
        which.insert(v.condition);
        std::printf("condition %d: %s\n", v.condition, v.first_violation.c_str());
    }
    return which;
}

/// Runs one client: 45 % New-Orders, 35 % Payments, 8 % Deliveries, and reading transactions.
void run_client(const remote::tables& db, std::uint64_t number, std::size_t transactions) {
    random_source dice{derive_seed(seed, purpose::worker, 2 * number)};
    input_source inputs{tiny, constants, warehouses, random_source{derive_seed(seed, purpose::worker, 2 * number + 1)}};
    for (std::size_t i = 0; i < transactions; ++i) {
        const warehouse_id home = dice.uniform(1, warehouses);
        const int card = dice.uniform(1, 100);
        if (card <= 45) remote::new_order(db, inputs.new_order(home));
        else if (card <= 80) remote::payment(db, inputs.payment(home));
        else if (card <= 88) remote::delivery(db, inputs.delivery(home));
        else if (card <= 94) remote::order_status(db, inputs.order_status(home));
        else remote::stock_level(db, inputs.stock_level(home, dice.uniform(1, districts_per_warehouse)));
    }
}

/// Returns the number of orders that a Delivery delivers.
auto delivered(const remote::tables& db, const delivery_input& in) {
    return std::ranges::count_if(remote::delivery(db, in).result, [](order_id o) { return o != 0; });
}

class tpcc_over_objects : public ::testing::Test {
protected:
    static void SetUpTestSuite() {
        ASSERT_EQ(missing_for(chosen()), "") << "is needed, and not installed";
        server_ = make_server(chosen());
        which_ = {server_ ? server_->address() : "memory:tpcc", chosen()};
    }
    static void TearDownTestSuite() { server_.reset(); }
    void TearDown() override { remote::injected_fault = fault::none; }
    static std::unique_ptr<database> loaded() { return populate(tiny, warehouses, seed, 1); }
    static std::size_t transactions() { return tutti::support::rounds(chosen() == "memory" ? 300 : 40); }

    tutti::support::watchdog guard_{chosen(), std::chrono::seconds{100}};
    static inline std::unique_ptr<server> server_;
    static inline under_test which_;
};

TEST_F(tpcc_over_objects, loads_consistently_in_any_division) {
    const node here{which_.options()};
    const remote::tables db{here};
    const auto rows = loaded();
    remote::publish(*rows, db, 1, 2);
    remote::publish(*rows, db, 0, 2);
    EXPECT_EQ(violated(db, moment::after_load), std::set<int>{});
}

TEST_F(tpcc_over_objects, keeps_all_conditions_under_several_clients) {
    const tutti::cluster::engine_options how = which_.options();
    node nodes[2]{node{how}, node{how}};
    remote::publish(*loaded(), remote::tables{nodes[0]});
    std::mutex guard;
    std::string wrong;
    std::vector<std::thread> clients;
    for (unsigned c = 0; c < 4; ++c) {
        clients.emplace_back([&, c] {
            try {
                run_client(remote::tables{nodes[c % 2]}, c, transactions());
            } catch (const std::exception& e) {
                const std::lock_guard hold{guard};
                wrong = e.what();
            }
        });
    }
    for (std::thread& c : clients) c.join();
    EXPECT_EQ(wrong, "");
    const node fresh{how};
    EXPECT_EQ(violated(remote::tables{fresh}, moment::after_run), std::set<int>{});
    EXPECT_GT(nodes[0].statistics().commits + nodes[1].statistics().commits, 4 * transactions() / 2);
}

TEST_F(tpcc_over_objects, leaves_nothing_of_an_invalid_new_order) {
    const node here{which_.options()};
    const remote::tables db{here};
    remote::publish(*loaded(), db);
    input_source inputs{tiny, constants, warehouses, random_source{seed}};
    new_order_input in = inputs.new_order(1);
    in.lines[static_cast<std::size_t>(in.line_count - 1)].item = tiny.unused_item();
    EXPECT_FALSE(remote::new_order(db, in).result);
    EXPECT_EQ(violated(db, moment::after_load), std::set<int>{});
    in.lines[static_cast<std::size_t>(in.line_count - 1)].item = 1;
    EXPECT_TRUE(remote::new_order(db, in).result);
    EXPECT_EQ(violated(db, moment::after_load), std::set<int>{}) << "one more order, and one more that is pending";
}

TEST_F(tpcc_over_objects, delivers_the_oldest_orders_of_each_district) {
    const node here{which_.options()};
    const remote::tables db{here};
    remote::publish(*loaded(), db);
    const delivery_input in{.warehouse = 1, .carrier = 3, .date = 5};
    for (int i = 0; i < tiny.pending_per_district(); ++i) EXPECT_EQ(delivered(db, in), 10);
    EXPECT_EQ(delivered(db, in), 0);
    EXPECT_EQ(violated(db, moment::after_run), std::set<int>{});
}

// ---- tests of the tests: a profile that skips a step violates the condition that the specification names

class tpcc_fault_injection_test : public tpcc_over_objects {
protected:
    void SetUp() override {
        if (chosen() != "memory") GTEST_SKIP() << "the profiles are the same over every engine";
    }
    /// Returns the conditions that one client violates after `times` runs of each profile.
    std::set<int> after(fault f, std::size_t times) {
        const node here{which_.options()};
        const remote::tables db{here};
        remote::publish(*loaded(), db);
        remote::injected_fault = f;
        run_client(db, 1, times);
        remote::injected_fault = fault::none;
        return violated(db, moment::after_run);
    }
    /// Returns the error when two clients draw an order number of one district.
    std::string when_two_meet(fault f) {
        const tutti::cluster::engine_options how = which_.options();
        node nodes[2]{node{how}, node{how}};
        remote::publish(*loaded(), remote::tables{nodes[0]});
        remote::injected_fault = f;
        std::string thrown[2];
        std::vector<std::thread> clients;
        for (unsigned c = 0; c < 2; ++c) {
            clients.emplace_back([&, c] {
                input_source inputs{tiny, constants, warehouses, random_source{seed + c}};
                try {
                    for (int i = 0; i < 500; ++i) {
                        new_order_input in = inputs.new_order(1);
                        in.district = 1;
                        remote::new_order(remote::tables{nodes[c]}, in);
                    }
                } catch (const std::exception& e) {
                    thrown[c] = e.what();
                }
            });
        }
        for (std::thread& c : clients) c.join();
        remote::injected_fault = fault::none;
        return thrown[0] + thrown[1];
    }
};

using conditions = std::set<int>;

TEST_F(tpcc_fault_injection_test, detects_a_lost_order_line) {
    EXPECT_EQ(after(fault::lost_line, 20), (conditions{4, 6, 13}));
}
TEST_F(tpcc_fault_injection_test, detects_a_number_drawn_in_another_block) {
    const node here{which_.options()};
    const remote::tables db{here};
    remote::publish(*loaded(), db);
    input_source inputs{tiny, constants, warehouses, random_source{seed}};
    new_order_input in = inputs.new_order(1);
    const std::size_t last = static_cast<std::size_t>(in.line_count - 1);
    remote::injected_fault = fault::number_before;
    in.lines[last].item = tiny.unused_item();
    EXPECT_FALSE(remote::new_order(db, in).result);
    EXPECT_EQ(violated(db, moment::after_run), conditions{2}) << "the number of an order that was rolled back is gone";
    in.lines[last].item = 1;
    EXPECT_TRUE(remote::new_order(db, in).result);
    EXPECT_EQ(violated(db, moment::after_run), conditions{3});
}
TEST_F(tpcc_fault_injection_test, detects_a_number_that_another_block_read) {
    std::string result;
    for (int i = 0; i < 20 && result.empty(); ++i) result = when_two_meet(fault::number_unread);  // chance decides
    EXPECT_NE(result, "") << "two orders had one number, and no client noticed";
    EXPECT_EQ(when_two_meet(fault::none), "");
}
TEST_F(tpcc_fault_injection_test, detects_a_new_order_kept_after_delivery) {
    EXPECT_TRUE(after(fault::kept_new_order, 60).contains(5));
}
TEST_F(tpcc_fault_injection_test, detects_an_undelivered_line) {
    EXPECT_TRUE(after(fault::undelivered_line, 60).contains(7));
}
TEST_F(tpcc_fault_injection_test, detects_a_payment_without_history) {
    EXPECT_EQ(after(fault::lost_history, 30), (conditions{8, 9, 10}));
}
TEST_F(tpcc_fault_injection_test, detects_a_payment_missing_in_the_district) {
    EXPECT_EQ(after(fault::unpaid_district, 30), (conditions{1, 9}));
}
TEST_F(tpcc_fault_injection_test, detects_unchanged_stock_of_another_warehouse) {
    EXPECT_EQ(after(fault::remote_stock, 150), conditions{13});
}
TEST_F(tpcc_fault_injection_test, detects_a_payment_missing_at_a_remote_customer) {
    EXPECT_EQ(after(fault::remote_payer, 60), conditions{10});
}

/// Runs several processes, as users start them.
TEST_F(tpcc_over_objects, runs_in_several_processes) {
    const char* const program = std::getenv("TUTTI_TEST_CLUSTER_PROGRAM");
    if (program == nullptr || !server_) GTEST_SKIP() << "needs the program, and a server that it can reach";
    const std::string log = ::testing::TempDir() + "tutti-tpcc-" + chosen() + std::to_string(::getpid());
    process run{{program, "--workload", "tpcc", "--engine", which_.address, "--nodes", "2", "--threads", "2",
                 "--seconds", "1", "--failure-timeout",
                 "20"},  // as in the rest of the suite: a block that checks all conditions reads everything
                log};
    const bool well = run.wait();
    std::ifstream file{log};
    const std::string result{std::istreambuf_iterator<char>{file}, {}};
    EXPECT_TRUE(well) << result;
    EXPECT_NE(result.find("the invariant holds"), std::string::npos) << result;
    std::printf("%s", result.c_str());
    ::unlink(log.c_str());
}

}  // namespace
