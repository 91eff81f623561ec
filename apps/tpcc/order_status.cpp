#include "tpcc/profiles.hpp"

namespace tpcc {

execution<order_status_result> order_status(database& db, const order_status_input& in) {
    const customer* const who = find_customer(db, in.customer);
    if (who == nullptr) return {{}, 1};
    unsigned attempts = 0;
    // No frame of the body has an object with a destructor.
    constexpr tutti::options how{.name = "order-status", .read_only = true};
    const order_status_result result = tutti::atomically(tutti::no_unwind, how, [&](tutti::tx& t) {
        attempts = t.attempt();
        order_status_result out;
        out.who = who;
        out.balance = who->balance.get(t);
        const order* const latest = who->last_order.get(t);
        db.computing.compute(demand::order_status);
        if (latest == nullptr) return out;
        out.order = latest->id;
        out.entered = latest->entered;
        out.carrier = latest->carrier.get(t);
        out.line_count = latest->line_count;
        for (std::size_t l = 0; l < static_cast<std::size_t>(latest->line_count); ++l) {
            const order_line& line = latest->lines[l];
            out.lines[l] = {line.item, line.supply_warehouse, line.quantity, line.amount, line.delivered.get(t)};
        }
        return out;
    });
    return {result, attempts};
}

}  // namespace tpcc
