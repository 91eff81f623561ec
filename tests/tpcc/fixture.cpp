#include "fixture.hpp"

#include <fmt/format.h>

namespace tpcc {

std::unique_ptr<database> tiny_database(int warehouses, std::uint64_t seed) {
    return populate(tiny, warehouses, seed, 1);
}

std::vector<std::string> contents(const database& db) {
    std::vector<std::string> all;
    for (warehouse_id w = 1; w <= db.warehouse_count(); ++w) {
        const warehouse& row = db.warehouse_at(w);
        all.push_back(fmt::format("warehouse {}: {}", w, row.ytd.load()));
        for (const stock& s : row.stocks) {
            all.push_back(fmt::format("stock {} {}: {} {} {} {}", w, s.item, s.quantity.load(), s.ytd.load(),
                                      s.order_count.load(), s.remote_count.load()));
        }
        for (const district& d : row.districts) {
            all.push_back(fmt::format("district {} {}: {} {}", w, d.id, d.ytd.load(), d.next_order.load()));
            for (const customer& c : d.customers) {
                const order* const last = c.last_order.load();
                all.push_back(fmt::format("customer {} {} {}: {} {} {} {} {} {}", w, d.id, c.id, c.balance.load(),
                                          c.ytd_payment.load(), c.payment_count.load(), c.delivery_count.load(),
                                          last == nullptr ? 0 : last->id, c.data.load().view()));
            }
            for (const order* const placed : rows_of(d.orders)) {
                const order& o = *placed;
                std::string line =
                    fmt::format("order {} {} {}: {} {} {}", w, d.id, o.id, o.customer, o.line_count, o.carrier.load());
                for (const order_line& l : o.lines) {
                    line += fmt::format(" ({} {} {} {} {} {})", l.number, l.item, l.supply_warehouse, l.quantity,
                                        l.amount, l.delivered.load() != not_delivered);
                }
                all.push_back(line);
            }
            for (const order_id o : pending_orders(d)) all.push_back(fmt::format("new order {} {} {}", w, d.id, o));
            for (const history& h : payments_of(d)) {
                all.push_back(fmt::format("history {} {}: {} {} {} {} {}", h.warehouse, h.district,
                                          h.customer_warehouse, h.customer_district, h.customer, h.amount,
                                          h.data.view()));
            }
        }
    }
    return all;
}

std::set<int> violated(const database& db, moment when) {
    std::set<int> conditions;
    for (const verdict& v : check_consistency(db, when)) {
        if (v.violated != 0) conditions.insert(v.condition);
    }
    return conditions;
}

std::vector<order_id> pending_orders(const district& d) {
    std::vector<order_id> ids;
    for (const new_order_row& row : rows_of(d.new_orders)) ids.push_back(row.order);
    return ids;
}

std::vector<history> payments_of(const district& d) { return rows_of(d.payments); }

order* order_of(const district& d, order_id id) {
    return tutti::atomically([&](tutti::tx& t) -> order* {
        return static_cast<std::size_t>(id) <= d.orders.size(t) ? &d.order_at(t, id) : nullptr;
    });
}

}  // namespace tpcc
