#include <functional>
#include <set>
#include <string>

#include <tutti/tutti.hpp>

#include "cluster/tpcc/copies.hpp"

namespace tpcc::remote {
namespace {

using tutti::tx;
using tutti::cluster::ref;

/// Makes objects, several in each block.
class loader {
public:
    loader(const tables& to, unsigned part, unsigned of) : to_{to}, part_{part}, of_{of} {}

    template <class T>
    void add(const ref<T>& name, const T& row) {
        if (count_++ % of_ != part_) return;
        names_ << name;
        rows_.push_back([name, row](tx& t) { name.publish(t, row); });
        if (rows_.size() == max_rows) flush();
    }
    void flush() {
        if (rows_.empty()) return;
        tutti::atomically({.name = "load"}, [&](tx& t) {
            wanted names = names_;
            names.open(t, to_);
            for (const auto& make : rows_) make(t);
        });
        names_ = {};
        rows_.clear();
    }

private:
    static constexpr std::size_t max_rows = 50;  // within the limits of every engine

    const tables& to_;
    const unsigned part_, of_;
    std::uint64_t count_ = 0;
    wanted names_;
    std::vector<std::function<void(tx&)>> rows_;
};

customer_row row_of(const customer& c) {
    const order* const last = c.last_order.load();
    return {c.balance.load(),
            c.ytd_payment.load(),
            c.payment_count.load(),
            c.delivery_count.load(),
            last == nullptr ? 0 : last->id,
            c.discount,
            c.credit_limit,
            c.since,
            c.credit,
            c.first,
            c.middle,
            c.last,
            c.phone,
            c.where,
            c.data.load()};
}

void add_customers(loader& all, const district& d, const tables& to) {
    std::set<std::string> names;
    for (const customer& c : d.customers) {
        all.add(to.customer_at(d.warehouse, d.id, c.id), row_of(c));
        names.emplace(c.last.view());
    }
    for (const std::string& last : names) {
        namesakes ids;
        for (const customer* const c : d.names.find(last)) ids.push_back(c->id);
        all.add(to.namesakes_at(d.warehouse, d.id, text<16>{last}), ids);
    }
}

void add_orders(loader& all, const district& d, const tables& to) {
    for (const order* const o : rows_of(d.orders)) {
        all.add(to.order_at(d.warehouse, d.id, o->id),
                {o->customer, o->entered, o->line_count, o->all_local, o->carrier.load()});
        for (const order_line& l : o->lines) {
            if (l.number == 0) continue;
            all.add(to.line_at(d.warehouse, d.id, o->id, l.number),
                    {l.delivered.load(), l.amount, l.item, l.supply_warehouse, l.quantity, l.district_info});
        }
    }
    order_id oldest = d.next_order.load();
    for (const new_order_row& row : rows_of(d.new_orders)) {
        all.add(to.new_order_at(d.warehouse, d.id, row.order), row);
        oldest = std::min(oldest, row.order);
    }
    all.add(to.numbers_of(d.warehouse, d.id), {d.next_order.load()});
    all.add(to.pending_of(d.warehouse, d.id), {oldest});
}

void add_payments(loader& all, const district& d, const tables& to) {
    std::int32_t count = 0;
    for (const history& h : rows_of(d.payments)) all.add(to.history_at(d.warehouse, d.id, ++count), h);
    all.add(to.payments_of(d.warehouse, d.id), {d.ytd.load(), count});
}

void add_items(loader& all, const database& from, const tables& to) {
    for (item_id i = 1; i <= from.size().items; ++i) all.add(to.item_at(i), *from.find_item(i));
}

void add_warehouse(loader& all, const warehouse& row, const tables& to) {
    const warehouse_id w = row.id;
    all.add(to.warehouse_at(w), {row.name, row.where, row.tax});
    all.add(to.ytd_of(w), {row.ytd.load()});
    for (const stock& s : row.stocks) {
        all.add(to.stock_at(w, s.item), {s.quantity.load(), s.ytd.load(), s.order_count.load(), s.remote_count.load(),
                                         s.district_info, s.data});
    }
    for (const district& d : row.districts) {
        all.add(to.district_at(w, d.id), {d.name, d.where, d.tax});
        add_customers(all, d, to);
        add_orders(all, d, to);
        add_payments(all, d, to);
    }
}

}  // namespace

void publish(const database& from, const tables& to, unsigned part, unsigned of) {
    loader all{to, part, of};
    add_items(all, from, to);
    for (warehouse_id w = 1; w <= from.warehouse_count(); ++w) add_warehouse(all, from.warehouse_at(w), to);
    all.flush();
}

void publish_warehouses(const database& from, const tables& to, std::span<const warehouse_id> which) {
    loader all{to, 0, 1};
    if (to.loads_items()) add_items(all, from, to);
    for (const warehouse_id w : which) add_warehouse(all, from.warehouse_at(w), to);
    all.flush();
}

}  // namespace tpcc::remote
