#include <utility>

#include <tutti/tutti.hpp>

#include "cluster/tpcc/copies.hpp"

namespace tpcc::remote {
namespace {

using tutti::tx;

constexpr int beyond = 3;  // so many numbers behind the last one are looked at

struct district_copy {
    warehouse_id warehouse = 0;
    district_id district = 0;
    order_id next = 0;
    tpcc::remote::payments booked;
    std::vector<std::pair<cents, cents>> customers;  // C_BALANCE, C_YTD_PAYMENT
    std::vector<std::pair<order_id, order_row>> orders;
    std::vector<std::vector<std::pair<int, line_row>>> lines;  // of each of them
    std::vector<new_order_row> new_orders;
    std::vector<history> entries;
};

struct copy {
    std::vector<cents> warehouses;  // W_YTD
    std::vector<district_copy> districts;
};

/// In two steps: what there is for certain, and then what that tells of, of all districts together.
copy read_all(tx& t, const tables& from, const scale& size, int warehouses) {
    copy all;
    wanted rows;
    for (warehouse_id w = 1; w <= warehouses; ++w) {
        rows << from.ytd_of(w);
        for (district_id d = 1; d <= districts_per_warehouse; ++d) {
            district_copy& one = all.districts.emplace_back();
            one.warehouse = w;
            one.district = d;
            rows << from.numbers_of(w, d) << from.payments_of(w, d);
            for (customer_id c = 1; c <= size.customers_per_district; ++c) rows << from.customer_at(w, d, c);
        }
    }
    rows.open(t, from);
    for (warehouse_id w = 1; w <= warehouses; ++w) all.warehouses.push_back(from.ytd_of(w).read(t).amount);
    for (district_copy& one : all.districts) {
        const warehouse_id w = one.warehouse;
        const district_id d = one.district;
        one.next = from.numbers_of(w, d).read(t).next;
        one.booked = from.payments_of(w, d).read(t);
        for (customer_id c = 1; c <= size.customers_per_district; ++c) {
            const customer_row& row = from.customer_at(w, d, c).read(t);
            one.customers.emplace_back(row.balance, row.ytd_payment);
        }
        for (order_id o = 1; o < one.next + beyond; ++o) {
            rows << from.order_at(w, d, o) << from.new_order_at(w, d, o);
            for (int l = 1; l <= max_lines; ++l) rows << from.line_at(w, d, o, l);
        }
        for (std::int32_t n = 1; n <= one.booked.count + beyond; ++n) rows << from.history_at(w, d, n);
    }
    rows.open(t, from);
    for (district_copy& one : all.districts) {
        const warehouse_id w = one.warehouse;
        const district_id d = one.district;
        for (order_id o = 1; o < one.next + beyond; ++o) {
            if (const new_order_row* const row = from.new_order_at(w, d, o).find(t)) one.new_orders.push_back(*row);
            const order_row* const row = from.order_at(w, d, o).find(t);
            if (row == nullptr) continue;
            one.orders.emplace_back(o, *row);
            auto& lines = one.lines.emplace_back();
            for (int l = 1; l <= max_lines; ++l) {
                if (const line_row* const line = from.line_at(w, d, o, l).find(t)) lines.emplace_back(l, *line);
            }
        }
        for (std::int32_t n = 1; n <= one.booked.count + beyond; ++n) {
            if (const history* const h = from.history_at(w, d, n).find(t)) one.entries.push_back(*h);
        }
    }
    return all;
}

void fill(district& to, const district_copy& from) {
    to.ytd.store(from.booked.ytd);
    to.next_order.store(from.next);
    for (std::size_t i = 0; i < to.customers.size(); ++i) {
        customer& c = to.customers[i];
        c.id = static_cast<customer_id>(i + 1);
        c.district = from.district;
        c.warehouse = from.warehouse;
        c.balance.store(from.customers[i].first);
        c.ytd_payment.store(from.customers[i].second);
    }
    for (std::size_t i = 0; i < from.orders.size(); ++i) {
        const auto& [number, row] = from.orders[i];
        order& made = *tutti::atomically({.name = "copy order"}, [&](tx& t) {
            order* const one = tutti::create<order>(t, number, from.district, from.warehouse, row.customer, row.entered,
                                                    row.line_count, row.all_local);
            to.orders.push_back(t, one);
            return one;
        });
        made.carrier.store(row.carrier);
        for (const auto& [place, line] : from.lines[i]) {
            order_line& l = made.lines[static_cast<std::size_t>(place - 1)];
            l.number = static_cast<std::int8_t>(place);
            l.amount = line.amount;
            l.item = line.item;
            l.delivered.store(line.delivered);
        }
    }
    tutti::atomically({.name = "copy"}, [&](tx& t) {
        for (const new_order_row& row : from.new_orders) to.new_orders.push(t, row);
        for (const history& h : from.entries) to.payments.push_back(t, h);
    });
}

}  // namespace

std::unique_ptr<database> collect(const tables& from, const scale& size, int warehouses,
                                  const nurand_constants& constants) {
    const copy all = tutti::atomically({.name = "collect", .read_only = true},
                                       [&](tx& t) { return read_all(t, from, size, warehouses); });
    auto db = std::make_unique<database>(size, warehouses, constants);
    for (warehouse_id w = 1; w <= warehouses; ++w)
        db->warehouse_at(w).ytd.store(all.warehouses[static_cast<std::size_t>(w - 1)]);
    for (const district_copy& d : all.districts) fill(db->district_at(d.warehouse, d.district), d);
    return db;
}

}  // namespace tpcc::remote
