#include "tpcc/profiles.hpp"

#include <gtest/gtest.h>

#include "fixture.hpp"

namespace tpcc {
namespace {

class tpcc_profiles : public testing::Test {
protected:
    /// Five lines of items 1 … 5, one of each, all from home.
    static new_order_input plain_order() {
        new_order_input in;
        in.warehouse = 1;
        in.district = 3;
        in.customer = 7;
        in.entered = 1'000'000;
        in.line_count = 5;
        for (int l = 0; l < 5; ++l) in.lines[static_cast<std::size_t>(l)] = {l + 1, 1, 1};
        return in;
    }

    const std::unique_ptr<database> db = tiny_database(2);
};

// Catches additional computing that changes the result, or that a division by zero removes.
TEST_F(tpcc_profiles, computing_on_top_changes_no_result) {
    const std::unique_ptr<database> slow = tiny_database(2);
    slow->computing = demand{1};
    payment_input paid{.warehouse = 1, .district = 3, .customer = {2, 4, 5, {}}, .amount = 100, .date = 1'000'000};
    for (database* const each : {db.get(), slow.get()}) {
        EXPECT_TRUE(new_order(*each, plain_order()).result.has_value());
        EXPECT_NE(payment(*each, paid).result.payer, nullptr);
        EXPECT_EQ(order_status(*each, {{1, 3, 7, {}}}).result.order, 61);
        EXPECT_NE(delivery(*each, {1, 5, 1'000'000}).result.orders[2], 0);
    }
    EXPECT_EQ(stock_level(*db, {1, 3, 15}).result.low_stock, stock_level(*slow, {1, 3, 15}).result.low_stock);
    EXPECT_EQ(contents(*db), contents(*slow));
}

TEST_F(tpcc_profiles, new_order_inserts_its_rows) {
    const new_order_input in = plain_order();
    district& d = db->district_at(1, 3);
    const auto done = new_order(*db, in);
    ASSERT_TRUE(done.result.has_value());
    EXPECT_GE(done.attempts, 1u);
    EXPECT_EQ(done.result->order, 61);
    EXPECT_EQ(d.next_order.load(), 62);
    EXPECT_EQ(pending_orders(d).back(), 61);

    const order* const row = order_of(d, 61);
    ASSERT_NE(row, nullptr);
    EXPECT_EQ(row->id, 61);
    EXPECT_EQ(row->district, 3);
    EXPECT_EQ(row->warehouse, 1);
    EXPECT_EQ(row->customer, 7);
    EXPECT_EQ(row->entered, 1'000'000);
    EXPECT_EQ(row->line_count, 5);
    EXPECT_TRUE(row->all_local);
    EXPECT_EQ(row->carrier.load(), no_carrier);
    EXPECT_EQ(db->customer_at(1, 3, 7).last_order.load(), row);
    for (int l = 0; l < max_lines; ++l) {
        const order_line& line = row->lines[static_cast<std::size_t>(l)];
        EXPECT_EQ(line.number, l < 5 ? l + 1 : 0);
        if (l >= 5) continue;
        EXPECT_EQ(line.item, l + 1);
        EXPECT_EQ(line.supply_warehouse, 1);
        EXPECT_EQ(line.quantity, 1);
        EXPECT_EQ(line.amount, db->find_item(l + 1)->price);
        EXPECT_EQ(line.delivered.load(), not_delivered);
        EXPECT_EQ(line.district_info, db->stock_at(1, l + 1).district_info[2]);
    }
    EXPECT_EQ(violated(*db), std::set<int>{});
}

// Clause 2.4.2.2: the stock is replenished by 91 if fewer than 10 more than the quantity are in stock.
TEST_F(tpcc_profiles, new_order_takes_from_stock) {
    new_order_input in = plain_order();
    in.lines[0].quantity = 5;
    in.lines[1].quantity = 5;
    in.lines[2] = {3, 2, 4};
    in.all_local = false;
    db->stock_at(1, 1).quantity.store(15);
    db->stock_at(1, 2).quantity.store(14);
    db->stock_at(2, 3).quantity.store(50);
    const auto done = new_order(*db, in);
    ASSERT_TRUE(done.result.has_value());

    EXPECT_EQ(db->stock_at(1, 1).quantity.load(), 10);
    EXPECT_EQ(db->stock_at(1, 2).quantity.load(), 14 - 5 + 91);
    EXPECT_EQ(db->stock_at(2, 3).quantity.load(), 46);
    EXPECT_EQ(done.result->lines[1].stock_quantity, 100);
    EXPECT_EQ(db->stock_at(1, 1).ytd.load(), 5);
    EXPECT_EQ(db->stock_at(1, 1).order_count.load(), 1);
    EXPECT_EQ(db->stock_at(1, 1).remote_count.load(), 0);
    EXPECT_EQ(db->stock_at(2, 3).ytd.load(), 4);
    EXPECT_EQ(db->stock_at(2, 3).order_count.load(), 1);
    EXPECT_EQ(db->stock_at(2, 3).remote_count.load(), 1);
    EXPECT_EQ(db->stock_at(1, 3).order_count.load(), 0);
    const order* const row = order_of(db->district_at(1, 3), 61);
    EXPECT_FALSE(row->all_local);
    EXPECT_EQ(row->lines[2].supply_warehouse, 2);
    EXPECT_EQ(row->lines[2].district_info, db->stock_at(2, 3).district_info[2]);
}

TEST_F(tpcc_profiles, an_item_ordered_twice_is_taken_twice) {
    new_order_input in = plain_order();
    in.lines[1].item = 1;
    db->stock_at(1, 1).quantity.store(50);
    ASSERT_TRUE(new_order(*db, in).result.has_value());
    EXPECT_EQ(db->stock_at(1, 1).quantity.load(), 48);
    EXPECT_EQ(db->stock_at(1, 1).order_count.load(), 2);
}

TEST_F(tpcc_profiles, new_order_shows_total_and_brand) {
    for (item_id i = 1; i <= 5; ++i) {
        db->item_at(i).price = 20'00;
        db->item_at(i).data = text<50>{i <= 2 ? "xxORIGINALxx" : "generic"};
        db->stock_at(1, i).data = text<50>{i >= 2 ? "ORIGINAL" : "generic"};
    }
    db->customer_at(1, 3, 7).discount = 1000;  // 10 %
    db->warehouse_at(1).tax = 500;             // 5 %
    db->district_at(1, 3).tax = 1500;          // 15 %
    const auto done = new_order(*db, plain_order());
    ASSERT_TRUE(done.result.has_value());
    EXPECT_EQ(done.result->total, 108'00);  // 100.00 * 0.9 * 1.2
    EXPECT_EQ(done.result->warehouse_tax, 500);
    EXPECT_EQ(done.result->district_tax, 1500);
    EXPECT_EQ(done.result->buyer, &db->customer_at(1, 3, 7));
    EXPECT_FALSE(done.result->lines[0].brand);
    EXPECT_TRUE(done.result->lines[1].brand);
    EXPECT_FALSE(done.result->lines[2].brand);
}

TEST_F(tpcc_profiles, a_rolled_back_new_order_leaves_no_trace) {
    new_order_input in = plain_order();
    in.lines[4].item = tiny.unused_item();
    const std::vector<std::string> before = contents(*db);
    EXPECT_FALSE(new_order(*db, in).result.has_value());
    EXPECT_EQ(contents(*db), before);
    // The order numbers have no gap either.
    EXPECT_EQ(new_order(*db, plain_order()).result->order, 61);
}

TEST_F(tpcc_profiles, payment_books_everywhere) {
    customer& payer = db->customer_at(2, 4, 9);
    payer.credit = text<2>{"GC"};
    const text<500> data = payer.data.load();
    const payment_input in{1, 3, {2, 4, 9, {}}, 123'45, 99};
    const auto done = payment(*db, in);
    EXPECT_EQ(done.result.payer, &payer);
    EXPECT_EQ(done.result.balance, -10'00 - 123'45);

    const cents loaded = 10'00 * 60;
    EXPECT_EQ(db->warehouse_at(1).ytd.load(), loaded * 10 + 123'45);
    EXPECT_EQ(db->district_at(1, 3).ytd.load(), loaded + 123'45);
    EXPECT_EQ(db->warehouse_at(2).ytd.load(), loaded * 10);
    EXPECT_EQ(payer.balance.load(), -10'00 - 123'45);
    EXPECT_EQ(payer.ytd_payment.load(), 10'00 + 123'45);
    EXPECT_EQ(payer.payment_count.load(), 2);
    EXPECT_EQ(payer.data.load().view(), data.view());

    const history row = payments_of(db->district_at(1, 3)).back();
    EXPECT_EQ(row.customer, 9);
    EXPECT_EQ(row.customer_district, 4);
    EXPECT_EQ(row.customer_warehouse, 2);
    EXPECT_EQ(row.district, 3);
    EXPECT_EQ(row.warehouse, 1);
    EXPECT_EQ(row.date, 99);
    EXPECT_EQ(row.amount, 123'45);
    EXPECT_EQ(row.data.view(),
              std::string{db->warehouse_at(1).name.view()} + "    " + std::string{db->district_at(1, 3).name.view()});
    EXPECT_EQ(violated(*db), std::set<int>{});
}

TEST_F(tpcc_profiles, payment_with_bad_credit_is_remembered) {
    customer& payer = db->customer_at(2, 4, 9);
    payer.credit = text<2>{"BC"};
    const std::string before{payer.data.load().view()};
    static_cast<void>(payment(*db, {1, 3, {2, 4, 9, {}}, 5'07, 99}));
    EXPECT_EQ(payer.data.load().view(), ("9 4 2 3 1 5.07 " + before).substr(0, 500));
    for (int i = 0; i < 40; ++i) static_cast<void>(payment(*db, {1, 3, {2, 4, 9, {}}, 1'00, 99}));
    EXPECT_EQ(payer.data.load().view().size(), 500u);
    EXPECT_EQ(payer.data.load().view().substr(0, 30), "9 4 2 3 1 1.00 9 4 2 3 1 1.00 ");
}

TEST_F(tpcc_profiles, payment_by_last_name_finds_the_middle_customer) {
    district& d = db->district_at(1, 3);
    const text<16> name = d.customers[20].last;
    customer* const expected = d.names.middle(name.view());
    ASSERT_NE(expected, nullptr);
    const cents before = expected->balance.load();
    EXPECT_EQ(payment(*db, {1, 3, {1, 3, 0, name}, 1'00, 99}).result.payer, expected);
    EXPECT_EQ(expected->balance.load(), before - 1'00);
}

TEST_F(tpcc_profiles, payment_by_nobody_has_no_effect) {
    const std::vector<std::string> before = contents(*db);
    EXPECT_EQ(payment(*db, {1, 3, {1, 3, 0, text<16>{"NOBODY"}}, 1'00, 99}).result.payer, nullptr);
    EXPECT_EQ(contents(*db), before);
}

TEST_F(tpcc_profiles, order_status_shows_the_latest_order) {
    const new_order_input in = plain_order();
    ASSERT_TRUE(new_order(*db, in).result.has_value());
    const std::vector<std::string> before = contents(*db);
    const order_status_result shown = order_status(*db, {{1, 3, 7, {}}}).result;
    EXPECT_EQ(contents(*db), before);
    EXPECT_EQ(shown.who, &db->customer_at(1, 3, 7));
    EXPECT_EQ(shown.balance, -10'00);
    EXPECT_EQ(shown.order, 61);
    EXPECT_EQ(shown.entered, in.entered);
    EXPECT_EQ(shown.carrier, no_carrier);
    ASSERT_EQ(shown.line_count, 5);
    for (int l = 0; l < 5; ++l) {
        EXPECT_EQ(shown.lines[static_cast<std::size_t>(l)].item, l + 1);
        EXPECT_EQ(shown.lines[static_cast<std::size_t>(l)].amount, db->find_item(l + 1)->price);
        EXPECT_EQ(shown.lines[static_cast<std::size_t>(l)].delivered, not_delivered);
    }
}

TEST_F(tpcc_profiles, order_status_of_a_customer_without_orders) {
    db->customer_at(1, 3, 7).last_order.store(nullptr);
    const order_status_result shown = order_status(*db, {{1, 3, 7, {}}}).result;
    EXPECT_EQ(shown.order, 0);
    EXPECT_EQ(shown.line_count, 0);
}

TEST_F(tpcc_profiles, delivery_takes_the_oldest_order_of_every_district) {
    const delivery_result done = delivery(*db, {1, 6, 777}).result;
    for (district_id d = 1; d <= 10; ++d) {
        EXPECT_EQ(done.orders[static_cast<std::size_t>(d - 1)], 43);
        const district& where = db->district_at(1, d);
        EXPECT_EQ(pending_orders(where).front(), 44);
        const order* const row = order_of(where, 43);
        EXPECT_EQ(row->carrier.load(), 6);
        cents sum = 0;
        for (int l = 0; l < row->line_count; ++l) {
            EXPECT_EQ(row->lines[static_cast<std::size_t>(l)].delivered.load(), 777);
            sum += row->lines[static_cast<std::size_t>(l)].amount;
        }
        const customer& buyer = db->customer_at(1, d, row->customer);
        EXPECT_EQ(buyer.balance.load(), -10'00 + sum);
        EXPECT_EQ(buyer.delivery_count.load(), 1);
        EXPECT_EQ(pending_orders(db->district_at(2, d)).front(), 43);
    }
    EXPECT_EQ(violated(*db), std::set<int>{});
}

TEST_F(tpcc_profiles, delivery_skips_districts_without_pending_orders) {
    for (int i = 0; i < 18; ++i) static_cast<void>(delivery(*db, {1, 6, 777}));
    EXPECT_EQ(violated(*db), std::set<int>{});
    const std::vector<std::string> before = contents(*db);
    EXPECT_EQ(delivery(*db, {1, 6, 778}).result.orders, (std::array<order_id, 10>{}));
    EXPECT_EQ(contents(*db), before);
    ASSERT_TRUE(new_order(*db, plain_order()).result.has_value());
    EXPECT_EQ(delivery(*db, {1, 6, 779}).result.orders, (std::array<order_id, 10>{0, 0, 61, 0, 0, 0, 0, 0, 0, 0}));
    EXPECT_EQ(violated(*db), std::set<int>{});
}

TEST_F(tpcc_profiles, stock_level_counts_distinct_low_items_of_the_last_twenty_orders) {
    const district& d = db->district_at(1, 3);
    for (const int threshold : {10, 20, 50, 101}) {
        std::set<item_id> low;
        for (const order* const placed : rows_of(d.orders)) {
            const order& o = *placed;
            if (o.id <= 40) continue;
            for (int l = 0; l < o.line_count; ++l) {
                const item_id id = o.lines[static_cast<std::size_t>(l)].item;
                if (db->stock_at(1, id).quantity.load() < threshold) low.insert(id);
            }
        }
        EXPECT_EQ(stock_level(*db, {1, 3, threshold}).result.low_stock, static_cast<int>(low.size())) << threshold;
    }
}

TEST(tpcc_profiles_small, stock_level_with_fewer_than_twenty_orders) {
    const auto db = populate({.items = 50, .customers_per_district = 4, .orders_per_district = 4}, 1, 7, 1);
    EXPECT_GT(stock_level(*db, {1, 1, 101}).result.low_stock, 0);
    EXPECT_EQ(stock_level(*db, {1, 1, 0}).result.low_stock, 0);
}

}  // namespace
}  // namespace tpcc
