#include "cluster/tpcc/profiles.hpp"

#include <algorithm>
#include <set>

#include <tutti/tutti.hpp>

#include "cluster/tpcc/fault.hpp"
#include "tpcc/profiles.hpp"
#include "tpcc/terms.hpp"

namespace tpcc::remote {
namespace {

using tutti::atomically;
using tutti::tx;
using tutti::cluster::ref;

/// The customer that an input means, by an index if by name; 0 where there is no such customer.
customer_id id_of(tx& t, const tables& db, const customer_choice& choice) {
    if (choice.id != 0) return choice.id;
    const namesakes* const all = db.namesakes_at(choice.warehouse, choice.district, choice.last).find(t);
    return all == nullptr || all->empty() ? 0 : (*all)[middle_of(all->size())];
}

/// Adds what id_of or the caller will read, whichever way the customer is chosen.
void add(wanted& to, const tables& db, const customer_choice& choice) {
    if (choice.id != 0) to << db.customer_at(choice.warehouse, choice.district, choice.id);
    else to << db.namesakes_at(choice.warehouse, choice.district, choice.last);
}

/// The number of the order, in the block that makes it.
order_id draw_number(tx& t, const tables& db, const new_order_input& in) {
    order_numbers& numbers = db.numbers_of(in.warehouse, in.district).write(t);
    return numbers.next++;
}

void run_new_order(tx& t, const tables& db, const new_order_input& in, order_id drawn_before) {
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
    for (const new_order_line_input& l : lines()) {
        stock_row& from = db.stock_at(l.supply_warehouse, l.item).write(t);
        from.quantity = quantity_after(from.quantity, l.quantity);
        from.ytd += l.quantity;
        from.order_count += 1;
        if (l.supply_warehouse != in.warehouse) from.remote_count += 1;
        ++place;
        if (broken(fault::lost_line) && place == in.line_count) break;
        db.line_at(in.warehouse, in.district, number, place)
            .publish(t, {not_delivered, db.item_at(l.item).read(t).price * l.quantity, l.item, l.supply_warehouse,
                         l.quantity, from.district_info[static_cast<std::size_t>(in.district - 1)]});
    }
    db.customer_at(in.warehouse, in.district, in.customer).write(t).last_order = number;
}

/// Delivers the oldest pending order of a district. False when there is none.
bool deliver_oldest(tx& t, const tables& db, const delivery_input& in, district_id d) {
    const warehouse_id w = in.warehouse;
    const ref<pending_orders> pending = db.pending_of(w, d);
    const order_id oldest = pending.read(t).oldest;
    const ref<new_order_row> entry = db.new_order_at(w, d, oldest);
    const ref<order_row> order = db.order_at(w, d, oldest);
    prefetch(t, entry, order);
    if (entry.find(t) == nullptr) return false;
    wanted rows;
    rows << db.customer_at(w, d, order.read(t).customer);
    const int line_count = order.read(t).line_count;
    for (int l = 1; l <= line_count; ++l) rows << db.line_at(w, d, oldest, l);
    rows.open(t, db);

    if (!broken(fault::kept_new_order)) entry.erase(t);
    pending.write(t).oldest = oldest + 1;
    order.write(t).carrier = in.carrier;
    cents sum = 0;
    for (int l = 1; l <= line_count; ++l) {
        line_row& line = db.line_at(w, d, oldest, l).write(t);
        sum += line.amount;
        if (broken(fault::undelivered_line) && l == line_count) continue;
        line.delivered = in.date;
    }
    customer_row& buyer = db.customer_at(w, d, order.read(t).customer).write(t);
    buyer.balance += sum;
    buyer.delivery_count += 1;
    return true;
}

}  // namespace

bool new_order(const tables& db, const new_order_input& in) {
    order_id drawn = 0;
    if (broken(fault::number_before)) drawn = atomically([&](tx& t) { return draw_number(t, db, in); });
    if (broken(fault::number_unread))
        drawn = atomically([&](tx& t) { return db.numbers_of(in.warehouse, in.district).read(t).next; });
    return tutti::try_atomically({.name = "new-order"}, [&](tx& t) {
        run_new_order(t, db, in, drawn);
        if (broken(fault::number_unread)) db.numbers_of(in.warehouse, in.district).write(t).next = drawn + 1;
    });
}

void payment(const tables& db, const payment_input& in) {
    const customer_choice& who = in.customer;
    atomically({.name = "payment"}, [&](tx& t) {
        wanted rows;
        rows << db.warehouse_at(in.warehouse) << db.ytd_of(in.warehouse) << db.district_at(in.warehouse, in.district)
             << db.payments_of(in.warehouse, in.district);
        add(rows, db, who);
        rows.open(t, db);
        const customer_id id = id_of(t, db, who);
        if (id == 0) return;
        const ref<customer_row> payer = db.customer_at(who.warehouse, who.district, id);
        const ref<history> entry =
            db.history_at(in.warehouse, in.district, db.payments_of(in.warehouse, in.district).read(t).count + 1);
        prefetch(t, payer, entry);

        db.ytd_of(in.warehouse).write(t).amount += in.amount;
        tpcc::remote::payments& booked = db.payments_of(in.warehouse, in.district).write(t);
        if (!broken(fault::unpaid_district)) booked.ytd += in.amount;
        customer_row& c = payer.write(t);
        c.balance -= in.amount;
        c.ytd_payment += in.amount;
        c.payment_count += 1;
        if (c.credit.view() == "BC") c.data = bad_credit_data(id, who.district, who.warehouse, in, c.data.view());
        if (broken(fault::lost_history)) return;
        booked.count += 1;
        entry.publish(t, {id, who.district, who.warehouse, in.district, in.warehouse, in.date, in.amount,
                          history_data(db.warehouse_at(in.warehouse).read(t).name,
                                       db.district_at(in.warehouse, in.district).read(t).name)});
    });
}

order_id order_status(const tables& db, const order_status_input& in) {
    const customer_choice& who = in.customer;
    return atomically({.name = "order-status", .read_only = true}, [&](tx& t) {
        const customer_id id = id_of(t, db, who);
        if (id == 0) return 0;
        const order_id latest = db.customer_at(who.warehouse, who.district, id).read(t).last_order;
        if (latest == 0) return 0;
        const int line_count = db.order_at(who.warehouse, who.district, latest).read(t).line_count;
        std::vector<ref<line_row>> lines;
        for (int l = 1; l <= line_count; ++l) lines.push_back(db.line_at(who.warehouse, who.district, latest, l));
        prefetch(t, lines);
        for (const ref<line_row>& l : lines) static_cast<void>(l.read(t));
        return latest;
    });
}

int delivery(const tables& db, const delivery_input& in) {
    int delivered = 0;
    for (district_id d = 1; d <= districts_per_warehouse; ++d)
        delivered += atomically({.name = "delivery"}, [&](tx& t) { return deliver_oldest(t, db, in, d); }) ? 1 : 0;
    return delivered;
}

int stock_level(const tables& db, const stock_level_input& in) {
    const warehouse_id w = in.warehouse;
    return atomically({.name = "stock-level", .read_only = true}, [&](tx& t) {
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
}

}  // namespace tpcc::remote
