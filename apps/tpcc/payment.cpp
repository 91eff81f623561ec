#include <iterator>

#include <fmt/format.h>

#include "tpcc/profiles.hpp"

namespace tpcc {
namespace {

/// What a payment of a customer with bad credit puts in front of C_DATA; the oldest characters fall off at the right.
text<500> history_of(const customer& payer, const payment_input& in, std::string_view before) {
    text<500> data;
    char entry[96];
    const auto end = fmt::format_to_n(entry, std::size(entry), "{} {} {} {} {} {}.{:02} ", payer.id, payer.district,
                                      payer.warehouse, in.district, in.warehouse, in.amount / 100, in.amount % 100);
    data.append({entry, end.out});
    data.append(before);
    return data;
}

/// W_NAME and D_NAME, four spaces apart.
text<24> history_data(const warehouse& w, const district& d) {
    text<24> data{w.name.view()};
    data.append("    ");
    data.append(d.name.view());
    return data;
}

}  // namespace

customer* find_customer(database& db, const customer_choice& choice) {
    if (choice.id != 0) return &db.customer_at(choice.warehouse, choice.district, choice.id);
    return db.district_at(choice.warehouse, choice.district).names.middle(choice.last.view());
}

execution<payment_result> payment(database& db, const payment_input& in) {
    customer* const found = find_customer(db, in.customer);
    if (found == nullptr) return {{}, 1};
    customer& payer = *found;
    warehouse& w = db.warehouse_at(in.warehouse);
    district& d = db.district_at(in.warehouse, in.district);

    const history entry{payer.id,     payer.district, payer.warehouse, in.district,
                        in.warehouse, in.date,        in.amount,       history_data(w, d)};
    unsigned attempts = 0;
    // No frame of the body holds anything with a destructor.
    const payment_result result = tutti::atomically(tutti::no_unwind, {.name = "payment"}, [&](tutti::tx& t) {
        attempts = t.attempt();
        w.ytd.set(t, w.ytd.get(t) + in.amount);
        d.ytd.set(t, d.ytd.get(t) + in.amount);
        db.computing.compute(demand::payment);
        const cents balance = payer.balance.get(t) - in.amount;
        payer.balance.set(t, balance);
        payer.ytd_payment.set(t, payer.ytd_payment.get(t) + in.amount);
        payer.payment_count.set(t, payer.payment_count.get(t) + 1);
        if (payer.bad_credit()) payer.data.set(t, history_of(payer, in, payer.data.get(t).view()));
        d.payments.push_back(t, entry);
        return payment_result{found, balance};
    });
    return {result, attempts};
}

}  // namespace tpcc
