#include "tpcc/inputs.hpp"

#include "tpcc/clock.hpp"
#include "tpcc/strings.hpp"

namespace tpcc {

input_source::input_source(const database& db, random_source random)
    : input_source{db.size(), db.constants(), db.warehouse_count(), random} {}

input_source::input_source(const scale& size, const nurand_constants& constants, int warehouses, random_source random)
    : size_{size}, constants_{constants}, warehouses_{warehouses}, random_{random} {}

/// Draws a warehouse other than the home one; with a single warehouse, returns that one (clauses 2.4.1.5 and 2.5.1.2).
warehouse_id input_source::other_warehouse(warehouse_id home) {
    if (warehouses_ == 1) return home;
    const warehouse_id w = random_.uniform(1, warehouses_ - 1);
    return w < home ? w : w + 1;
}

/// Selects 60 % by last name and 40 % by identifier (clauses 2.5.1.2 and 2.6.1.2).
customer_choice input_source::choose_customer(warehouse_id w, district_id d) {
    customer_choice choice{w, d, 0, {}};
    if (random_.percent(60)) {
        choice.last = last_name(random_.nurand(nurand_last_name, 0, size_.last_names() - 1, constants_.last_name_run));
    } else {
        choice.id = random_.nurand(nurand_customer, 1, size_.customers_per_district, constants_.customer);
    }
    return choice;
}

new_order_input input_source::new_order(warehouse_id home) {
    new_order_input in;
    in.warehouse = home;
    in.district = random_.uniform(1, districts_per_warehouse);
    in.customer = random_.nurand(nurand_customer, 1, size_.customers_per_district, constants_.customer);
    in.line_count = random_.uniform(min_lines, max_lines);
    const bool mistaken = random_.percent(1);
    for (int l = 0; l < in.line_count; ++l) {
        new_order_line_input& line = in.lines[static_cast<std::size_t>(l)];
        const bool last = l + 1 == in.line_count;
        line.item =
            mistaken && last ? size_.unused_item() : random_.nurand(nurand_item, 1, size_.items, constants_.item);
        line.supply_warehouse = random_.percent(1) ? other_warehouse(home) : home;
        line.quantity = random_.uniform(1, 10);
        in.all_local = in.all_local && line.supply_warehouse == home;
    }
    in.entered = wall_clock();
    return in;
}

payment_input input_source::payment(warehouse_id home) {
    payment_input in;
    in.warehouse = home;
    in.district = random_.uniform(1, districts_per_warehouse);
    if (random_.percent(85)) {
        in.customer = choose_customer(home, in.district);
    } else {
        const district_id d = random_.uniform(1, districts_per_warehouse);
        in.customer = choose_customer(other_warehouse(home), d);
    }
    in.amount = random_.uniform(1'00, 5000'00);
    in.date = wall_clock();
    return in;
}

order_status_input input_source::order_status(warehouse_id home) {
    return {choose_customer(home, random_.uniform(1, districts_per_warehouse))};
}

delivery_input input_source::delivery(warehouse_id home) { return {home, random_.uniform(1, 10), wall_clock()}; }

stock_level_input input_source::stock_level(warehouse_id home, district_id terminal) {
    return {home, terminal, random_.uniform(10, 20)};
}

}  // namespace tpcc
