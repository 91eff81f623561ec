#include "tpcc/profiles.hpp"

namespace tpcc {
namespace {

/// Delivers the oldest pending order of a district. Returns its number, or 0 if there is none.
order_id deliver_oldest(tutti::tx& t, district& from, const delivery_input& in) {
    const std::optional<new_order_row> oldest = from.new_orders.try_pop(t);
    if (!oldest) return 0;
    order& row = from.order_at(t, oldest->order);
    row.carrier.set(t, in.carrier);
    cents sum = 0;
    for (std::size_t l = 0; l < static_cast<std::size_t>(row.line_count); ++l) {
        row.lines[l].delivered.set(t, in.date);
        sum += row.lines[l].amount;
    }
    customer& buyer = from.customers[static_cast<std::size_t>(row.customer - 1)];
    buyer.balance.set(t, buyer.balance.get(t) + sum);
    buyer.delivery_count.set(t, buyer.delivery_count.get(t) + 1);
    return row.id;
}

}  // namespace

execution<delivery_result> delivery(database& db, const delivery_input& in) {
    warehouse& from = db.warehouse_at(in.warehouse);
    unsigned attempts = 0;
    // No frame of the body has an object with a destructor.
    const delivery_result result = tutti::atomically(tutti::no_unwind, {.name = "delivery"}, [&](tutti::tx& t) {
        attempts = t.attempt();
        delivery_result out;
        for (std::size_t d = 0; d < out.orders.size(); ++d) {
            out.orders[d] = deliver_oldest(t, from.districts[d], in);
            db.computing.compute(demand::delivery / districts_per_warehouse);
        }
        return out;
    });
    return {result, attempts};
}

}  // namespace tpcc
