#include "cluster/tpcc/profiles.hpp"

#include <algorithm>
#include <set>

#include <tutti/tutti.hpp>

#include "cluster/tpcc/fault_injection.hpp"
#include "tpcc/terms.hpp"

namespace tpcc::remote {
namespace {

using tutti::atomically;
using tutti::tx;
using tutti::cluster::ref;

/// Returns the customer that an input selects, through an index if by name; 0 if there is no such customer.
customer_id id_of(tx& t, const tables& db, const customer_choice& choice) {
    if (choice.id != 0) return choice.id;
    const namesakes* const all = db.namesakes_at(choice.warehouse, choice.district, choice.last).find(t);
    return all == nullptr || all->empty() ? 0 : (*all)[middle_of(all->size())];
}

/// Adds the rows that id_of or the caller will read, by number or by name.
void add(wanted& to, const tables& db, const customer_choice& choice) {
    if (choice.id != 0) to << db.customer_at(choice.warehouse, choice.district, choice.id);
    else to << db.namesakes_at(choice.warehouse, choice.district, choice.last);
}

/// Returns the number of the order, in the block that makes the order.
order_id draw_number(tx& t, const tables& db, const new_order_input& in) {
    order_numbers& numbers = db.numbers_of(in.warehouse, in.district).write(t);
    return numbers.next++;
}

void take(stock_row& from, int quantity, bool remote) {
    from.quantity = quantity_after(from.quantity, quantity);
    from.ytd += quantity;
    from.order_count += 1;
    if (remote) from.remote_count += 1;
}

placed_order run_new_order(tx& t, const tables& db, const new_order_input& in, order_id drawn_before) {
    const auto lines = [&in] { return std::span{in.lines}.first(static_cast<std::size_t>(in.line_count)); };
    wanted rows;
    rows << db.warehouse_at(in.warehouse) << db.district_at(in.warehouse, in.district)
         << db.numbers_of(in.warehouse, in.district) << db.customer_at(in.warehouse, in.district, in.customer);
    for (const new_order_line_input& l : lines()) {
        rows << db.item_at(l.item) << db.stock_at(l.supply_warehouse, l.item);
    }
    rows.open(t, db);
    for (const new_order_line_input& l : lines()) {
        if (db.item_at(l.item).find(t) == nullptr) tutti::cancel(t);
    }

    const order_id number = drawn_before != 0 ? drawn_before : draw_number(t, db, in);
    const ref<order_row> order = db.order_at(in.warehouse, in.district, number);
    const ref<new_order_row> pending = db.new_order_at(in.warehouse, in.district, number);
    rows << order << pending;
    for (int l = 1; l <= in.line_count; ++l) rows << db.line_at(in.warehouse, in.district, number, l);
    rows.open(t, db);

    order.publish(t, {in.customer, in.entered, in.line_count, in.all_local, no_carrier});
    pending.publish(t, {number, in.district, in.warehouse});
    int place = 0;
    cents sum = 0;
    for (const new_order_line_input& l : lines()) {
        const ref<stock_row> from = db.stock_at(l.supply_warehouse, l.item);
        const bool remote = l.supply_warehouse != in.warehouse;
        if (!remote || !injected(fault::remote_stock)) take(from.write(t), l.quantity, remote);
        const cents amount = db.item_at(l.item).read(t).price * l.quantity;
        sum += amount;
        ++place;
        if (injected(fault::lost_line) && place == in.line_count) break;
        db.line_at(in.warehouse, in.district, number, place)
            .publish(t, {not_delivered, amount, l.item, l.supply_warehouse, l.quantity,
                         from.read(t).district_info[static_cast<std::size_t>(in.district - 1)]});
    }
    customer_row& buyer = db.customer_at(in.warehouse, in.district, in.customer).write(t);
    buyer.last_order = number;
    const rate taxes =
        db.warehouse_at(in.warehouse).read(t).tax + db.district_at(in.warehouse, in.district).read(t).tax;
    return {number, total_of(sum, buyer.discount, taxes)};
}

void pay(customer_row& payer, customer_id id, const payment_input& in) {
    payer.balance -= in.amount;
    payer.ytd_payment += in.amount;
    payer.payment_count += 1;
    if (payer.credit.view() == "BC")
        payer.data = bad_credit_data(id, in.customer.district, in.customer.warehouse, in, payer.data.view());
}

/// Delivers the oldest pending order of a district. Returns its number, or 0 if there is none.
order_id deliver_oldest(tx& t, const tables& db, const delivery_input& in, district_id d) {
    const warehouse_id w = in.warehouse;
    const ref<pending_orders> pending = db.pending_of(w, d);
    const order_id oldest = pending.read(t).oldest;
    const ref<new_order_row> entry = db.new_order_at(w, d, oldest);
    const ref<order_row> order = db.order_at(w, d, oldest);
    prefetch(t, entry, order);
    if (entry.find(t) == nullptr) return 0;
    wanted rows;
    rows << db.customer_at(w, d, order.read(t).customer);
    const int line_count = order.read(t).line_count;
    for (int l = 1; l <= line_count; ++l) rows << db.line_at(w, d, oldest, l);
    rows.open(t, db);

    if (!injected(fault::kept_new_order)) entry.erase(t);
    pending.write(t).oldest = oldest + 1;
    order.write(t).carrier = in.carrier;
    cents sum = 0;
    for (int l = 1; l <= line_count; ++l) {
        line_row& line = db.line_at(w, d, oldest, l).write(t);
        sum += line.amount;
        if (injected(fault::undelivered_line) && l == line_count) continue;
        line.delivered = in.date;
    }
    customer_row& buyer = db.customer_at(w, d, order.read(t).customer).write(t);
    buyer.balance += sum;
    buyer.delivery_count += 1;
    return oldest;
}

}  // namespace

execution<std::optional<placed_order>> new_order(const tables& db, const new_order_input& in) {
    order_id drawn = 0;
    if (injected(fault::number_before)) drawn = atomically([&](tx& t) { return draw_number(t, db, in); });
    if (injected(fault::number_unread))
        drawn = atomically([&](tx& t) { return db.numbers_of(in.warehouse, in.district).read(t).next; });
    unsigned attempts = 0;
    const auto placed = tutti::try_atomically({.name = "new-order"}, [&](tx& t) {
        attempts = t.attempt();
        const placed_order order = run_new_order(t, db, in, drawn);
        if (injected(fault::number_unread)) db.numbers_of(in.warehouse, in.district).write(t).next = drawn + 1;
        return order;
    });
    return {placed, attempts};
}

execution<booked_payment> payment(const tables& db, const payment_input& in) {
    const customer_choice& who = in.customer;
    unsigned attempts = 0;
    const auto booked = atomically({.name = "payment"}, [&](tx& t) -> booked_payment {
        attempts = t.attempt();
        wanted rows;
        rows << db.warehouse_at(in.warehouse) << db.ytd_of(in.warehouse) << db.district_at(in.warehouse, in.district)
             << db.payments_of(in.warehouse, in.district);
        add(rows, db, who);
        rows.open(t, db);
        const customer_id id = id_of(t, db, who);
        if (id == 0) return {};
        const ref<customer_row> payer = db.customer_at(who.warehouse, who.district, id);
        const ref<history> entry =
            db.history_at(in.warehouse, in.district, db.payments_of(in.warehouse, in.district).read(t).count + 1);
        prefetch(t, payer, entry);

        db.ytd_of(in.warehouse).write(t).amount += in.amount;
        payments& in_district = db.payments_of(in.warehouse, in.district).write(t);
        if (!injected(fault::unpaid_district)) in_district.ytd += in.amount;
        const bool is_forgotten = injected(fault::remote_payer) && who.warehouse != in.warehouse;
        if (!is_forgotten) pay(payer.write(t), id, in);
        const cents balance = payer.read(t).balance;
        if (injected(fault::lost_history)) return {id, balance};
        in_district.count += 1;
        entry.publish(t, {id, who.district, who.warehouse, in.district, in.warehouse, in.date, in.amount,
                          history_data(db.warehouse_at(in.warehouse).read(t).name,
                                       db.district_at(in.warehouse, in.district).read(t).name)});
        return {id, balance};
    });
    return {booked, attempts};
}

execution<shown_order> order_status(const tables& db, const order_status_input& in) {
    const customer_choice& who = in.customer;
    unsigned attempts = 0;
    const auto shown = atomically({.name = "order-status", .read_only = true}, [&](tx& t) -> shown_order {
        attempts = t.attempt();
        const customer_id id = id_of(t, db, who);
        if (id == 0) return {};
        const customer_row& row = db.customer_at(who.warehouse, who.district, id).read(t);
        const order_id latest = row.last_order;
        if (latest == 0) return {id, row.balance, 0, 0};
        const cents balance = row.balance;
        const int line_count = db.order_at(who.warehouse, who.district, latest).read(t).line_count;
        std::vector<ref<line_row>> lines;
        for (int l = 1; l <= line_count; ++l) lines.push_back(db.line_at(who.warehouse, who.district, latest, l));
        prefetch(t, lines);
        for (const ref<line_row>& l : lines) static_cast<void>(l.read(t));
        return {id, balance, latest, line_count};
    });
    return {shown, attempts};
}

execution<std::array<order_id, districts_per_warehouse>> delivery(const tables& db, const delivery_input& in) {
    execution<std::array<order_id, districts_per_warehouse>> done{{}, 1};
    for (district_id d = 1; d <= districts_per_warehouse; ++d) {
        unsigned attempts = 0;
        done.result[static_cast<std::size_t>(d - 1)] = atomically({.name = "delivery"}, [&](tx& t) {
            attempts = t.attempt();
            return deliver_oldest(t, db, in, d);
        });
        done.attempts += attempts - 1;
    }
    return done;
}

execution<int> stock_level(const tables& db, const stock_level_input& in) {
    const warehouse_id w = in.warehouse;
    unsigned attempts = 0;
    const int low = atomically({.name = "stock-level", .read_only = true}, [&](tx& t) {
        attempts = t.attempt();
        const order_id next = db.numbers_of(w, in.district).read(t).next;
        const order_id first = std::max(1, next - stock_level_orders);
        wanted rows;
        for (order_id o = first; o < next; ++o) rows << db.order_at(w, in.district, o);
        rows.open(t, db);
        const auto for_each_line = [&](auto&& f) {
            for (order_id o = first; o < next; ++o) {
                const int line_count = db.order_at(w, in.district, o).read(t).line_count;
                for (int l = 1; l <= line_count; ++l) f(db.line_at(w, in.district, o, l));
            }
        };
        for_each_line([&](const ref<line_row>& l) { rows << l; });
        rows.open(t, db);
        std::set<item_id> items;
        for_each_line([&](const ref<line_row>& l) { items.insert(l.read(t).item); });
        for (const item_id i : items) rows << db.stock_at(w, i);
        rows.open(t, db);
        return static_cast<int>(
            std::ranges::count_if(items, [&](item_id i) { return db.stock_at(w, i).read(t).quantity < in.threshold; }));
    });
    return {low, attempts};
}

}  // namespace tpcc::remote
