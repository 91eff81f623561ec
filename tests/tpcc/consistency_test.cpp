// The checker can fail: for each condition, one change that violates it, and the other conditions that this change
// violates.
#include "tpcc/consistency.hpp"

#include <gtest/gtest.h>

#include "fixture.hpp"
#include "tpcc/profiles.hpp"

namespace tpcc {
namespace {

using conditions = std::set<int>;

class tpcc_consistency : public testing::Test {
protected:
    template <class F>
    void in_transaction(F f) {
        tutti::atomically([&](tutti::tx& t) { f(t); });
    }
    /// Adds a HISTORY row of district 3 without the corresponding balances.
    void add_history(district_id district, cents amount) {
        in_transaction([&](tutti::tx& t) {
            db->district_at(1, 3).payments.push_back(t, {.customer = 5,
                                                         .customer_district = 3,
                                                         .customer_warehouse = 1,
                                                         .district = district,
                                                         .warehouse = 1,
                                                         .date = 1,
                                                         .amount = amount,
                                                         .data = {}});
        });
    }

    const std::unique_ptr<database> db = tiny_database(2);
    district& d = db->district_at(1, 3);
    customer& c = db->customer_at(1, 3, 5);
    // Order 10 is loaded as delivered, with amounts of 0.00. Order 50 is loaded as pending.
    order& delivered = *order_of(d, 10);
    order& pending = *order_of(d, 50);
};

TEST_F(tpcc_consistency, nothing_is_violated_to_begin_with) {
    EXPECT_EQ(violated(*db, moment::after_load), conditions{});
    for (const verdict& v : check_consistency(*db, moment::after_load)) EXPECT_GT(v.compared, 0u) << v.condition;
    EXPECT_EQ(check_consistency(*db, moment::after_load).size(), 13u);
    EXPECT_EQ(check_consistency(*db, moment::after_run).size(), 12u);
}

TEST_F(tpcc_consistency, condition_1_sees_a_wrong_district_sum) {
    d.ytd.store(d.ytd.load() + 1);
    EXPECT_EQ(violated(*db), (conditions{1, 9}));
}

TEST_F(tpcc_consistency, condition_2_sees_a_lost_order_number) {
    d.next_order.store(d.next_order.load() + 1);
    EXPECT_EQ(violated(*db), conditions{2});
}

TEST_F(tpcc_consistency, condition_2_sees_a_missing_newest_new_order) {
    in_transaction([&](tutti::tx& t) {
        for (int i = 0; i < 18; ++i) {
            const new_order_row row = d.new_orders.pop(t);
            if (row.order != 60) d.new_orders.push(t, row);
        }
    });
    EXPECT_EQ(violated(*db), (conditions{2, 5}));
}

TEST_F(tpcc_consistency, condition_3_sees_a_hole_among_new_orders) {
    in_transaction([&](tutti::tx& t) {
        for (int i = 0; i < 18; ++i) {
            const new_order_row row = d.new_orders.pop(t);
            if (row.order != 50) d.new_orders.push(t, row);
        }
    });
    EXPECT_EQ(violated(*db), (conditions{3, 5}));
}

TEST_F(tpcc_consistency, condition_4_sees_a_lost_order_line) {
    delivered.lines[0].number = 0;
    EXPECT_EQ(violated(*db), (conditions{4, 6}));
}

TEST_F(tpcc_consistency, condition_5_sees_a_carrier_of_a_pending_order) {
    pending.carrier.store(3);
    EXPECT_EQ(violated(*db), (conditions{5, 7}));
}

TEST_F(tpcc_consistency, condition_5_sees_a_new_order_without_its_order) {
    in_transaction([&](tutti::tx& t) {
        d.new_orders.push(t, {61, 3, 1});
        d.next_order.set(t, 62);
    });
    EXPECT_EQ(violated(*db), (conditions{2, 5}));
}

TEST_F(tpcc_consistency, condition_5_sees_an_order_delivered_without_carrier) {
    delivered.carrier.store(no_carrier);
    EXPECT_EQ(violated(*db), (conditions{5, 7}));
}

TEST_F(tpcc_consistency, condition_6_sees_wrong_counts_that_cancel_out) {
    ++delivered.line_count;
    --pending.line_count;
    EXPECT_EQ(violated(*db), conditions{6});
}

TEST_F(tpcc_consistency, condition_7_sees_an_undelivered_line) {
    delivered.lines[2].delivered.store(not_delivered);
    EXPECT_EQ(violated(*db), conditions{7});
}

TEST_F(tpcc_consistency, condition_8_sees_a_lost_update_of_the_warehouse) {
    db->warehouse_at(1).ytd.store(db->warehouse_at(1).ytd.load() - 10'00);
    EXPECT_EQ(violated(*db), (conditions{1, 8}));
}

TEST_F(tpcc_consistency, condition_8_sees_a_payment_booked_nowhere) {
    add_history(3, 1'00);
    EXPECT_EQ(violated(*db), (conditions{8, 9, 10}));
}

TEST_F(tpcc_consistency, condition_9_sees_payments_in_the_wrong_district) {
    add_history(3, 1'00);
    add_history(4, -1'00);
    EXPECT_EQ(violated(*db), conditions{9});
}

TEST_F(tpcc_consistency, condition_10_sees_a_wrong_balance) {
    c.balance.store(c.balance.load() + 1);
    c.ytd_payment.store(c.ytd_payment.load() - 1);
    EXPECT_EQ(violated(*db), conditions{10});
}

TEST_F(tpcc_consistency, condition_11_sees_a_delivery_after_the_load) {
    static_cast<void>(delivery(*db, {1, 6, 777}));
    EXPECT_EQ(violated(*db, moment::after_load), conditions{11});
    EXPECT_EQ(violated(*db, moment::after_run), conditions{});
}

TEST_F(tpcc_consistency, condition_12_sees_a_wrong_payment_sum) {
    c.ytd_payment.store(c.ytd_payment.load() + 1);
    EXPECT_EQ(violated(*db), conditions{12});
}

TEST_F(tpcc_consistency, condition_13_sees_stock_that_nobody_took) {
    stock& s = db->stock_at(2, 7);
    s.ytd.store(s.ytd.load() + 3);
    EXPECT_EQ(violated(*db), conditions{13});
    s.ytd.store(0);
    s.order_count.store(1);
    EXPECT_EQ(violated(*db), conditions{13});
}

TEST_F(tpcc_consistency, condition_13_sees_a_line_that_took_nothing) {
    new_order_input in{
        .warehouse = 1, .district = 3, .customer = 5, .entered = 1, .line_count = 5, .all_local = false, .lines = {}};
    for (int l = 0; l < 5; ++l) in.lines[static_cast<std::size_t>(l)] = {l + 1, l == 4 ? 2 : 1, 2};
    ASSERT_TRUE(new_order(*db, in).result);
    EXPECT_EQ(violated(*db), conditions{});
    stock& remote = db->stock_at(2, 5);
    remote.remote_count.store(0);
    EXPECT_EQ(violated(*db), conditions{13});
    remote.remote_count.store(1);
    remote.ytd.store(0);
    EXPECT_EQ(violated(*db), conditions{13});
}

TEST_F(tpcc_consistency, after_a_loss_looks_at_what_is_left) {
    const auto left_violated = [&] {
        std::set<int> which;
        for (const verdict& v : check_consistency(*db, moment::after_loss, std::vector<warehouse_id>{1})) {
            EXPECT_NE(v.condition, 10);
            EXPECT_NE(v.condition, 13);
            EXPECT_GT(v.compared, 0u) << v.condition;
            if (v.violated != 0) which.insert(v.condition);
        }
        return which;
    };
    db->warehouse_at(2).ytd.store(5);
    EXPECT_EQ(left_violated(), conditions{}) << "of a warehouse that is gone";
    c.ytd_payment.store(c.ytd_payment.load() + 1);
    EXPECT_EQ(left_violated(), conditions{12});
}

TEST_F(tpcc_consistency, a_verdict_shows_the_numbers) {
    db->warehouse_at(2).ytd.store(5);
    const std::vector<verdict> verdicts = check_consistency(*db, moment::after_run);
    EXPECT_FALSE(all_hold(verdicts));
    EXPECT_EQ(verdicts[0].condition, 1);
    EXPECT_EQ(verdicts[0].compared, 2u);
    EXPECT_EQ(verdicts[0].violated, 1u);
    EXPECT_EQ(verdicts[0].first_violation, "warehouse 2: 5 and 600000 cents");
}

// Rows with invalid identifiers are reported, not followed.
TEST_F(tpcc_consistency, survives_nonsense) {
    delivered.customer = 1'000'000;
    add_history(77, 1'00);
    EXPECT_EQ(violated(*db), conditions{10});
}

}  // namespace
}  // namespace tpcc
