#include "tpcc/inputs.hpp"

#include <gtest/gtest.h>

#include "fixture.hpp"
#include "tpcc/profiles.hpp"

namespace tpcc {
namespace {

constexpr int draws = 20'000;

class tpcc_inputs : public testing::Test {
protected:
    const std::unique_ptr<database> db = tiny_database(3);
    input_source source{*db, random_source{1}};
};

TEST_F(tpcc_inputs, new_orders_follow_clause_2_4_1) {
    int mistaken = 0, remote_lines = 0, lines = 0;
    for (int i = 0; i < draws; ++i) {
        const new_order_input in = source.new_order(2);
        EXPECT_EQ(in.warehouse, 2);
        ASSERT_TRUE(in.district >= 1 && in.district <= 10);
        ASSERT_TRUE(in.customer >= 1 && in.customer <= tiny.customers_per_district);
        ASSERT_TRUE(in.line_count >= 5 && in.line_count <= 15);
        bool all_local = true;
        for (int l = 0; l < in.line_count; ++l) {
            const new_order_line_input& line = in.lines[static_cast<std::size_t>(l)];
            const bool last = l + 1 == in.line_count;
            if (last && line.item == tiny.unused_item()) ++mistaken;
            else ASSERT_TRUE(line.item >= 1 && line.item <= tiny.items);
            ASSERT_TRUE(line.quantity >= 1 && line.quantity <= 10);
            ASSERT_TRUE(line.supply_warehouse >= 1 && line.supply_warehouse <= 3);
            ++lines;
            remote_lines += line.supply_warehouse != 2 ? 1 : 0;
            all_local = all_local && line.supply_warehouse == 2;
        }
        EXPECT_EQ(in.all_local, all_local);
    }
    // Both probabilities are 1 %. The tolerance is six standard deviations.
    EXPECT_NEAR(mistaken, draws / 100, 85);
    EXPECT_NEAR(remote_lines, lines / 100, 270);
    EXPECT_NEAR(lines, draws * 10, 2700);
}

TEST_F(tpcc_inputs, payments_follow_clause_2_5_1) {
    int at_home = 0, by_name = 0;
    for (int i = 0; i < draws; ++i) {
        const payment_input in = source.payment(1);
        ASSERT_TRUE(in.amount >= 1'00 && in.amount <= 5000'00);
        if (in.customer.warehouse == 1) {
            ++at_home;
            EXPECT_EQ(in.customer.district, in.district);
        }
        by_name += in.customer.id == 0 ? 1 : 0;
        EXPECT_NE(in.customer.id == 0, in.customer.last.view().empty());
    }
    EXPECT_NEAR(at_home, draws * 85 / 100, 310);
    EXPECT_NEAR(by_name, draws * 60 / 100, 420);
}

TEST_F(tpcc_inputs, every_chosen_customer_exists) {
    for (int i = 0; i < draws; ++i) {
        EXPECT_NE(find_customer(*db, source.payment(1).customer), nullptr);
        EXPECT_NE(find_customer(*db, source.order_status(1).customer), nullptr);
    }
}

TEST_F(tpcc_inputs, deliveries_and_stock_levels_follow_their_clauses) {
    for (int i = 0; i < 1000; ++i) {
        const delivery_input delivery = source.delivery(3);
        ASSERT_TRUE(delivery.carrier >= 1 && delivery.carrier <= 10);
        EXPECT_NE(delivery.date, not_delivered);
        const stock_level_input level = source.stock_level(3, 4);
        ASSERT_TRUE(level.threshold >= 10 && level.threshold <= 20);
        EXPECT_EQ(level.district, 4);
    }
}

TEST(tpcc_inputs_alone, a_single_warehouse_supplies_everything) {
    const auto db = tiny_database(1);
    input_source source{*db, random_source{1}};
    for (int i = 0; i < 2000; ++i) {
        EXPECT_TRUE(source.new_order(1).all_local);
        EXPECT_EQ(source.payment(1).customer.warehouse, 1);
    }
}

}  // namespace
}  // namespace tpcc
