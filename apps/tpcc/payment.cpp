#include "tpcc/profiles.hpp"
#include "tpcc/terms.hpp"

namespace tpcc {
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
                        in.warehouse, in.date,        in.amount,       history_data(w.name, d.name)};
    unsigned attempts = 0;
    // No frame of the body has an object with a destructor.
    const payment_result result = tutti::atomically(tutti::no_unwind, {.name = "payment"}, [&](tutti::tx& t) {
        attempts = t.attempt();
        w.ytd.set(t, w.ytd.get(t) + in.amount);
        d.ytd.set(t, d.ytd.get(t) + in.amount);
        db.computing.compute(demand::payment);
        const cents balance = payer.balance.get(t) - in.amount;
        payer.balance.set(t, balance);
        payer.ytd_payment.set(t, payer.ytd_payment.get(t) + in.amount);
        payer.payment_count.set(t, payer.payment_count.get(t) + 1);
        if (payer.bad_credit()) {
            payer.data.set(t, bad_credit_data(payer.id, payer.district, payer.warehouse, in, payer.data.get(t).view()));
        }
        d.payments.push_back(t, entry);
        return payment_result{found, balance};
    });
    return {result, attempts};
}

}  // namespace tpcc
