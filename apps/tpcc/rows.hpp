// The rows of the nine tables (clause 1.3).
//
// A column that some transaction changes is a `tutti::var`. All others are plain members. Plain members are written
// while the row is private to its creator (the loader, or the transaction that inserts it), and only read afterwards.
//
// WAREHOUSE and DISTRICT are in database.hpp, because they contain the other tables.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <tutti/tutti.hpp>

#include "tpcc/schema.hpp"
#include "tpcc/text.hpp"

namespace tpcc {

struct address {
    text<20> street_1;
    text<20> street_2;
    text<20> city;
    text<2> state;
    text<9> zip;
};

struct item {
    item_id id = 0;
    int image = 0;
    cents price = 0;
    text<24> name;
    text<50> data;
};

/// A cache line with four variables, then read-only columns.
struct alignas(cache_line) stock {
    tutti::var<int> quantity;
    tutti::var<int> ytd;
    tutti::var<int> order_count;
    tutti::var<int> remote_count;
    item_id item = 0;
    warehouse_id warehouse = 0;
    std::array<std::array<char, 24>, districts_per_warehouse> district_info{};  ///< S_DIST_01 … S_DIST_10
    text<50> data;
};

/// A row is one cache line long. `number` 0: the row does not exist.
struct alignas(cache_line) order_line {
    tutti::var<timestamp> delivered{not_delivered};
    cents amount = 0;
    item_id item = 0;
    warehouse_id supply_warehouse = 0;
    std::int8_t number = 0;
    std::int8_t quantity = 0;
    std::array<char, 24> district_info{};
};

/// An ORDER row with its ORDER-LINE rows: they are inserted together and always found by order.
struct order {
    order(order_id id_, district_id district_, warehouse_id warehouse_, customer_id customer_, timestamp entered_,
          int line_count_, bool all_local_) noexcept
        : id{id_},
          district{district_},
          warehouse{warehouse_},
          customer{customer_},
          entered{entered_},
          line_count{line_count_},
          all_local{all_local_} {}

    order_id id;
    district_id district;
    warehouse_id warehouse;
    customer_id customer;
    timestamp entered;
    int line_count;  ///< O_OL_CNT
    bool all_local;
    tutti::var<carrier_id> carrier{no_carrier};
    std::array<order_line, max_lines> lines;
};

struct customer {
    tutti::var<cents> balance;
    tutti::var<cents> ytd_payment;
    tutti::var<int> payment_count;
    tutti::var<int> delivery_count;
    tutti::var<text<500>> data;
    tutti::var<order*> last_order;  ///< the index from customer to latest order; null if there is no order
    customer_id id = 0;
    district_id district = 0;
    warehouse_id warehouse = 0;
    rate discount = 0;
    cents credit_limit = 0;
    timestamp since = 0;
    text<2> credit;  ///< GC (good) or BC (bad)
    text<16> first;
    text<2> middle;
    text<16> last;
    text<16> phone;
    address where;

    [[nodiscard]] bool bad_credit() const noexcept { return credit.view() == "BC"; }
};

struct history {
    customer_id customer = 0;
    district_id customer_district = 0;
    warehouse_id customer_warehouse = 0;
    district_id district = 0;
    warehouse_id warehouse = 0;
    timestamp date = 0;
    cents amount = 0;
    text<24> data;
};

struct new_order_row {
    order_id order = 0;
    district_id district = 0;
    warehouse_id warehouse = 0;
};

}  // namespace tpcc
