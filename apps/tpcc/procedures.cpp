// The five profiles as procedures of the transaction server, with the priorities of Silvestri et al., "Preemptive
// Software Transactional Memory", table I: shorter profiles have higher priorities. `tutti serve tpcc-procedures.so`
// loads the database, serves, and checks consistency at its end.
//
//   CALL new_order    w d c  (item supply_warehouse quantity){5…15}   -> order, total in cents; nil: no such item
//   CALL payment      w d  customer_w customer_d customer  cents      -> customer, balance
//   CALL order_status w d customer                                    -> customer, balance, order, lines
//   CALL delivery     w carrier                                       -> the order delivered in each district
//   CALL stock_level  w d threshold                                   -> items
//   CALL scale                                                        -> the parameters of a generator of inputs
//   CALL attempts                                                     -> executions and restarts, by profile
//
// A customer is a number, or a last name. Settings: warehouses, seed, shrink (divides items, customers and orders),
// demand (demand.hpp; 100 makes transactions as long as the paper's).
#include <algorithm>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <thread>
#include <tuple>

#include "tpcc/consistency.hpp"
#include "tpcc/populate.hpp"
#include "tpcc/report.hpp"
#include "tpcc/served.hpp"

namespace tpcc {
namespace {

using namespace served;

customer_id id_of(const customer* found) { return somebody(found == nullptr ? 0 : found->id); }

std::unique_ptr<database> load(const registry& from) {
    const extent how = extent::of(from, {});
    std::unique_ptr<database> db = populate(how.size, how.warehouses, static_cast<std::uint64_t>(how.seed),
                                            std::max(1U, std::thread::hardware_concurrency()));
    db->computing = demand{number_of(from, "demand", 0, 0, 10'000)};
    return db;
}

void check(const database& db) {
    const std::vector<verdict> verdicts = check_consistency(db, moment::after_run);
    std::printf("%s\n", consistency_table("consistency after the run (clause 3.3.2)", verdicts).c_str());
    std::fflush(stdout);
    if (!all_hold(verdicts)) throw std::runtime_error{"TPC-C: the database is not consistent"};
}

void add_procedures(registry& server) {
    const std::shared_ptr<database> db = load(server);
    const reader read{db->size(), db->warehouse_count()};
    const auto counts = std::make_shared<attempt_counts>();

    server.add("new_order", {.priority = of_new_order},
               [db, read, counts](int w, int d, int c, const std::vector<int>& lines) {
                   const auto done = counts->count(profile::new_order, new_order(*db, read.order(w, d, c, lines)));
                   using shown = std::pair<order_id, cents>;
                   return done ? std::optional<shown>{{done->order, done->total}} : std::nullopt;
               });
    server.add("payment", {.priority = of_payment},
               [db, read, counts](int w, int d, int customer_w, int customer_d, const std::string& who, cents amount) {
                   const payment_input in = read.payment(w, d, read.choice(customer_w, customer_d, who), amount);
                   const auto done = counts->count(profile::payment, payment(*db, in));
                   return std::pair{id_of(done.payer), done.balance};
               });
    server.add("order_status", {.priority = of_order_status}, [db, read, counts](int w, int d, const std::string& who) {
        const auto done = counts->count(profile::order_status, order_status(*db, {read.choice(w, d, who)}));
        return std::tuple{id_of(done.who), done.balance, done.order, done.line_count};
    });
    server.add("delivery", {.priority = of_delivery}, [db, read, counts](int w, int carrier) {
        const auto done = counts->count(profile::delivery, delivery(*db, read.delivery(w, carrier)));
        return std::vector<order_id>(done.orders.begin(), done.orders.end());
    });
    server.add("stock_level", {.priority = of_stock_level}, [db, read, counts](int w, int d, int threshold) {
        return counts->count(profile::stock_level, stock_level(*db, read.stock_level(w, d, threshold))).low_stock;
    });
    server.add("scale", {.priority = of_payment},
               [db] { return answer_scale(db->size(), db->warehouse_count(), db->constants()); });
    server.add("attempts", {.priority = of_payment}, [counts] { return counts->list(); });
    server.at_end([db] { check(*db); });
}

}  // namespace
}  // namespace tpcc

TUTTI_PROCEDURES(server) { tpcc::add_procedures(server); }
