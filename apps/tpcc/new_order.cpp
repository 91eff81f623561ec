#include "tpcc/profiles.hpp"
#include "tpcc/strings.hpp"
#include "tpcc/terms.hpp"

namespace tpcc {
namespace {

/// Takes a quantity out of stock. Returns the remaining quantity.
int take(tutti::tx& t, stock& from, int quantity, bool remote) {
    const int after = quantity_after(from.quantity.get(t), quantity);
    from.quantity.set(t, after);
    from.ytd.set(t, from.ytd.get(t) + quantity);
    from.order_count.set(t, from.order_count.get(t) + 1);
    if (remote) from.remote_count.set(t, from.remote_count.get(t) + 1);
    return after;
}

new_order_result run(tutti::tx& t, database& db, const new_order_input& in) {
    new_order_result out;
    const warehouse& home = db.warehouse_at(in.warehouse);
    district& where = db.district_at(in.warehouse, in.district);
    customer& buyer = db.customer_at(in.warehouse, in.district, in.customer);

    out.order = where.next_order.get(t);
    out.buyer = &buyer;
    out.warehouse_tax = home.tax;
    out.district_tax = where.tax;
    out.line_count = in.line_count;
    where.next_order.set(t, out.order + 1);

    // No other transaction sees the row before the commit, so its plain columns may be written until then.
    order* const row = tutti::create<order>(t, out.order, in.district, in.warehouse, in.customer, in.entered,
                                            in.line_count, in.all_local);
    cents sum = 0;
    for (std::size_t l = 0; l < static_cast<std::size_t>(in.line_count); ++l) {
        db.computing.compute(demand::new_order / in.line_count);
        const new_order_line_input& wanted = in.lines[l];
        const item* const what = db.find_item(wanted.item);
        if (what == nullptr) tutti::cancel(t);
        stock& from = db.stock_at(wanted.supply_warehouse, wanted.item);

        new_order_result::line& shown = out.lines[l];
        shown.what = what;
        shown.stock_quantity = take(t, from, wanted.quantity, wanted.supply_warehouse != in.warehouse);
        shown.brand = holds_original(what->data) && holds_original(from.data);
        shown.amount = what->price * wanted.quantity;
        sum += shown.amount;

        order_line& line = row->lines[l];
        line.number = static_cast<std::int8_t>(l + 1);
        line.item = wanted.item;
        line.supply_warehouse = wanted.supply_warehouse;
        line.quantity = static_cast<std::int8_t>(wanted.quantity);
        line.amount = shown.amount;
        line.district_info = from.district_info[static_cast<std::size_t>(in.district - 1)];
    }

    where.orders.push_back(t, row);
    where.new_orders.push(t, {out.order, in.district, in.warehouse});
    buyer.last_order.set(t, row);
    out.total = total_of(sum, buyer.discount, home.tax + where.tax);
    return out;
}

}  // namespace

execution<std::optional<new_order_result>> new_order(database& db, const new_order_input& in) {
    unsigned attempts = 0;
    auto result = tutti::try_atomically({.name = "new-order"}, [&](tutti::tx& t) {
        attempts = t.attempt();
        return run(t, db, in);
    });
    return {result, attempts};
}

}  // namespace tpcc
