#include <numeric>
#include <utility>

#include <tutti/tutti.hpp>

#include "cluster/tpcc/copies.hpp"

namespace tpcc::remote {
namespace {

using tutti::tx;

constexpr int beyond = 3;  // also reads this many numbers after the last one

struct customer_copy {
    cents balance = 0, ytd_payment = 0;
};

struct district_copy {
    district_id district = 0;
    order_id next = 0;
    tpcc::remote::payments booked;
    std::vector<customer_copy> customers;
    std::vector<std::pair<order_id, order_row>> orders;
    std::vector<std::vector<std::pair<int, line_row>>> lines;  // of each order
    std::vector<new_order_row> new_orders;
    std::vector<history> entries;
};

struct warehouse_copy {
    warehouse_id id = 0;
    cents ytd = 0;
    std::vector<stock_row> stocks;
    std::vector<district_copy> districts;
};

/// Reads the counts that every district has: of orders and of payments.
void read_counts(tx& t, const tables& from, std::vector<warehouse_copy>& all) {
    wanted rows;
    for (const warehouse_copy& w : all) {
        rows << from.ytd_of(w.id);
        for (const district_copy& d : w.districts)
            rows << from.numbers_of(w.id, d.district) << from.payments_of(w.id, d.district);
    }
    rows.open(t, from);
    for (warehouse_copy& w : all) {
        w.ytd = from.ytd_of(w.id).read(t).amount;
        for (district_copy& d : w.districts) {
            d.next = from.numbers_of(w.id, d.district).read(t).next;
            d.booked = from.payments_of(w.id, d.district).read(t);
        }
    }
}

void read_orders(tx& t, const tables& from, std::vector<warehouse_copy>& all) {
    const auto for_each = [&all](auto&& f) {
        for (warehouse_copy& w : all) {
            for (district_copy& d : w.districts) f(w.id, d.district, d);
        }
    };
    wanted rows;
    for_each([&](warehouse_id w, district_id d, const district_copy& one) {
        for (order_id o = 1; o < one.next + beyond; ++o) {
            rows << from.order_at(w, d, o) << from.new_order_at(w, d, o);
            for (int l = 1; l <= max_lines; ++l) rows << from.line_at(w, d, o, l);
        }
        for (std::int32_t n = 1; n <= one.booked.count + beyond; ++n) rows << from.history_at(w, d, n);
    });
    rows.open(t, from);
    for_each([&](warehouse_id w, district_id d, district_copy& one) {
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
    });
}

/// Reads the rows whose number is fixed by the load.
void read_fixed(tx& t, const tables& from, const scale& size, std::vector<warehouse_copy>& all) {
    wanted rows;
    for (const warehouse_copy& w : all) {
        for (item_id i = 1; i <= size.items; ++i) rows << from.stock_at(w.id, i);
        for (const district_copy& d : w.districts) {
            for (customer_id c = 1; c <= size.customers_per_district; ++c)
                rows << from.customer_at(w.id, d.district, c);
        }
    }
    rows.open(t, from);
    for (warehouse_copy& w : all) {
        for (item_id i = 1; i <= size.items; ++i) w.stocks.push_back(from.stock_at(w.id, i).read(t));
        for (district_copy& d : w.districts) {
            for (customer_id c = 1; c <= size.customers_per_district; ++c) {
                const customer_row& row = from.customer_at(w.id, d.district, c).read(t);
                d.customers.push_back({row.balance, row.ytd_payment});
            }
        }
    }
}

std::vector<warehouse_copy> copies_of(std::span<const warehouse_id> which) {
    std::vector<warehouse_copy> all;
    for (const warehouse_id w : which) {
        warehouse_copy& one = all.emplace_back();
        one.id = w;
        for (district_id d = 1; d <= districts_per_warehouse; ++d) one.districts.emplace_back().district = d;
    }
    return all;
}

void fill(district& to, const district_copy& from) {
    to.ytd.store(from.booked.ytd);
    to.next_order.store(from.next);
    for (std::size_t i = 0; i < from.customers.size(); ++i) {
        customer& c = to.customers[i];
        c.id = static_cast<customer_id>(i + 1);
        c.district = to.id;
        c.warehouse = to.warehouse;
        c.balance.store(from.customers[i].balance);
        c.ytd_payment.store(from.customers[i].ytd_payment);
    }
    for (std::size_t i = 0; i < from.orders.size(); ++i) {
        const auto& [number, row] = from.orders[i];
        order& made = *tutti::atomically({.name = "copy order"}, [&](tx& t) {
            order* const one = tutti::create<order>(t, number, to.id, to.warehouse, row.customer, row.entered,
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
            l.supply_warehouse = line.supply_warehouse;
            l.quantity = static_cast<std::int8_t>(line.quantity);
            l.delivered.store(line.delivered);
        }
    }
    tutti::atomically({.name = "copy"}, [&](tx& t) {
        for (const new_order_row& row : from.new_orders) to.new_orders.push(t, row);
        for (const history& h : from.entries) to.payments.push_back(t, h);
    });
}

std::unique_ptr<database> database_of(const std::vector<warehouse_copy>& all, const scale& size, int warehouses,
                                      const nurand_constants& constants) {
    auto db = std::make_unique<database>(size, warehouses, constants);
    for (const warehouse_copy& from : all) {
        warehouse& to = db->warehouse_at(from.id);
        to.ytd.store(from.ytd);
        for (std::size_t i = 0; i < from.stocks.size(); ++i) {
            to.stocks[i].ytd.store(from.stocks[i].ytd);
            to.stocks[i].order_count.store(from.stocks[i].order_count);
            to.stocks[i].remote_count.store(from.stocks[i].remote_count);
        }
        for (const district_copy& d : from.districts) fill(db->district_at(from.id, d.district), d);
    }
    return db;
}

}  // namespace

std::unique_ptr<database> collect(const tables& from, const scale& size, int warehouses,
                                  const nurand_constants& constants, std::span<const warehouse_id> which) {
    std::vector<warehouse_id> every(which.empty() ? static_cast<std::size_t>(warehouses) : 0);
    std::iota(every.begin(), every.end(), 1);
    if (which.empty()) which = every;
    const auto all = tutti::atomically({.name = "collect", .read_only = true}, [&](tx& t) {
        std::vector<warehouse_copy> copies = copies_of(which);
        read_counts(t, from, copies);
        read_fixed(t, from, size, copies);
        read_orders(t, from, copies);
        return copies;
    });
    return database_of(all, size, warehouses, constants);
}

}  // namespace tpcc::remote
