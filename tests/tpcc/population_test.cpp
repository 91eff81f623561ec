#include "tpcc/populate.hpp"

#include <gtest/gtest.h>

#include <map>

#include "fixture.hpp"
#include "tpcc/strings.hpp"

namespace tpcc {
namespace {

class tpcc_population : public testing::Test {
protected:
    const std::unique_ptr<database> db = tiny_database(2);
};

TEST_F(tpcc_population, has_the_cardinalities_of_its_scale) {
    EXPECT_EQ(db->warehouse_count(), 2);
    EXPECT_NE(db->find_item(tiny.items), nullptr);
    EXPECT_EQ(db->find_item(tiny.unused_item()), nullptr);
    EXPECT_EQ(db->find_item(0), nullptr);
    for (warehouse_id w = 1; w <= 2; ++w) {
        EXPECT_EQ(db->warehouse_at(w).stocks.size(), 300u);
        for (district_id d = 1; d <= 10; ++d) {
            const district& row = db->district_at(w, d);
            EXPECT_EQ(row.id, d);
            EXPECT_EQ(row.warehouse, w);
            EXPECT_EQ(row.customers.size(), 60u);
            EXPECT_EQ(payments_of(row).size(), 60u);
            EXPECT_EQ(row.next_order.load(), 61);
            std::vector<order_id> expected;
            for (order_id o = 43; o <= 60; ++o) expected.push_back(o);
            EXPECT_EQ(pending_orders(row), expected);
        }
    }
}

TEST(tpcc_population_full, has_the_cardinalities_of_the_specification) {
    const auto db = populate(scale{}, 1, 7, 2);
    EXPECT_EQ(db->warehouse_at(1).stocks.size(), 100'000u);
    EXPECT_EQ(db->warehouse_at(1).ytd.load(), 300'000'00);
    std::size_t lines = 0;
    for (const district& d : db->warehouse_at(1).districts) {
        EXPECT_EQ(d.ytd.load(), 30'000'00);
        EXPECT_EQ(d.customers.size(), 3000u);
        EXPECT_EQ(d.next_order.load(), 3001);
        EXPECT_EQ(pending_orders(d).size(), 900u);
        EXPECT_EQ(pending_orders(d).front(), 2101);
        EXPECT_EQ(payments_of(d).size(), 3000u);
        for (const order* const o : rows_of(d.orders)) lines += static_cast<std::size_t>(o->line_count);
        // The first thousand use every name once; the others are drawn, so some name occurs several times.
        for (int n = 0; n < last_name_count; ++n) ASSERT_FALSE(d.names.find(last_name(n).view()).empty()) << n;
    }
    // 30,000 orders of 5 to 15 lines: standard deviation of the sum 548.
    EXPECT_NEAR(static_cast<double>(lines), 300'000, 6 * 548);
    EXPECT_TRUE(all_hold(check_consistency(*db, moment::after_load)));
    EXPECT_LE(database::bytes_after_load(scale{}, 1), 150'000'000u);
}

TEST_F(tpcc_population, rows_hold_what_clause_4_3_3_1_says) {
    for (item_id i = 1; i <= tiny.items; ++i) {
        const item& row = *db->find_item(i);
        EXPECT_EQ(row.id, i);
        ASSERT_TRUE(row.price >= 1'00 && row.price <= 100'00);
        ASSERT_TRUE(row.image >= 1 && row.image <= 10'000);
        ASSERT_TRUE(row.name.view().size() >= 14 && row.name.view().size() <= 24);
        const stock& s = db->stock_at(2, i);
        EXPECT_EQ(s.item, i);
        EXPECT_EQ(s.warehouse, 2);
        ASSERT_TRUE(s.quantity.load() >= 10 && s.quantity.load() <= 100);
        EXPECT_EQ(s.ytd.load() + s.order_count.load() + s.remote_count.load(), 0);
    }
    int bad_credit = 0;
    for (const district& d : db->warehouse_at(1).districts) {
        ASSERT_TRUE(d.tax >= 0 && d.tax <= 2000);
        EXPECT_EQ(d.where.zip.view().substr(4), "11111");
        for (const customer& c : d.customers) {
            EXPECT_EQ(c.middle.view(), "OE");
            EXPECT_EQ(c.balance.load(), -10'00);
            EXPECT_EQ(c.ytd_payment.load(), 10'00);
            EXPECT_EQ(c.payment_count.load(), 1);
            EXPECT_EQ(c.delivery_count.load(), 0);
            ASSERT_TRUE(c.discount >= 0 && c.discount <= 5000);
            const std::size_t size = c.data.load().view().size();
            ASSERT_TRUE(size >= 300 && size <= 500);
            bad_credit += c.bad_credit() ? 1 : 0;
        }
    }
    // Binomial(600, 0.1): standard deviation 7.3.
    EXPECT_NEAR(bad_credit, 60, 6 * 7.3);
}

TEST_F(tpcc_population, every_customer_has_one_order) {
    for (const district& d : db->warehouse_at(1).districts) {
        std::map<customer_id, int> orders;
        for (const order* const placed : rows_of(d.orders)) {
            const order& o = *placed;
            ++orders[o.customer];
            EXPECT_TRUE(o.all_local);
            EXPECT_EQ(o.carrier.load() == no_carrier, o.id > 42);
            for (int l = 0; l < max_lines; ++l) {
                const order_line& line = o.lines[static_cast<std::size_t>(l)];
                EXPECT_EQ(line.number, l < o.line_count ? l + 1 : 0);
                if (l >= o.line_count) continue;
                EXPECT_EQ(line.quantity, 5);
                EXPECT_EQ(line.amount == 0, o.id <= 42);
                EXPECT_EQ(line.delivered.load(), o.id <= 42 ? o.entered : not_delivered);
            }
        }
        EXPECT_EQ(orders.size(), 60u);
        for (const customer& c : d.customers) {
            ASSERT_NE(c.last_order.load(), nullptr);
            EXPECT_EQ(c.last_order.load()->customer, c.id);
        }
    }
}

TEST_F(tpcc_population, is_consistent) { EXPECT_EQ(violated(*db, moment::after_load), std::set<int>{}); }

TEST_F(tpcc_population, depends_on_the_seed_and_not_on_the_threads) {
    const std::vector<std::string> here = contents(*db);
    EXPECT_EQ(contents(*populate(tiny, 2, 7, 4)), here);
    EXPECT_NE(contents(*populate(tiny, 2, 8, 1)), here);
}

TEST_F(tpcc_population, reports_every_part_once) {
    std::size_t calls = 0, last = 0, all = 0;
    static_cast<void>(populate(tiny, 1, 7, 3, [&](std::size_t done, std::size_t parts) {
        EXPECT_EQ(done, last + 1);
        last = done;
        all = parts;
        ++calls;
    }));
    EXPECT_EQ(calls, all);
    EXPECT_EQ(last, all);
}

// Clause 2.5.2.2: of n customers with a name, sorted by first name, number ceil(n/2).
TEST(tpcc_customer_names, the_middle_one_is_rounded_up) {
    const auto named = [](int n) {
        std::vector<customer> rows(static_cast<std::size_t>(n));
        for (int i = 0; i < n; ++i) {
            rows[static_cast<std::size_t>(i)].id = i + 1;
            rows[static_cast<std::size_t>(i)].last = text<16>{"BAROUGHTBAR"};
            // In descending order, so that sorting changes it.
            rows[static_cast<std::size_t>(i)].first = text<16>{std::string(1, static_cast<char>('z' - i))};
        }
        return rows;
    };
    for (int n = 1; n <= 9; ++n) {
        std::vector<customer> rows = named(n);
        customer_names names;
        names.build(rows);
        EXPECT_EQ(names.find("BAROUGHTBAR").size(), static_cast<std::size_t>(n));
        const char expected = static_cast<char>('z' - (n - 1) + (n + 1) / 2 - 1);
        EXPECT_EQ(names.middle("BAROUGHTBAR")->first.view(), std::string(1, expected)) << n;
        EXPECT_EQ(names.middle("BAR"), nullptr);
        EXPECT_EQ(names.middle("EINGEINGEING"), nullptr);
    }
}

}  // namespace
}  // namespace tpcc
