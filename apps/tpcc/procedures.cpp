// The five profiles as procedures of the transaction server, with the priorities of Silvestri et al., "Preemptive
// Software Transactional Memory", table I: the shorter, the higher. `tutti serve tpcc-procedures.so` loads the
// database, serves, and checks consistency at its end.
//
//   CALL new_order    w d c  (item supply_warehouse quantity){5…15}   -> order, total in cents; nil: no such item
//   CALL payment      w d  customer_w customer_d customer  cents      -> customer, balance
//   CALL order_status w d customer                                    -> customer, balance, order, lines
//   CALL delivery     w carrier                                       -> the order delivered in each district
//   CALL stock_level  w d threshold                                   -> items
//   CALL scale                                                        -> what a generator of inputs has to know
//   CALL attempts                                                     -> executions and restarts, by profile
//
// A customer is a number, or a last name. Settings: warehouses, seed, shrink (divides items, customers and orders),
// demand (demand.hpp; 100 makes transactions as long as the paper's).
#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <type_traits>
#include <vector>

#include <tutti/server/procedure.hpp>

#include "tpcc/clock.hpp"
#include "tpcc/consistency.hpp"
#include "tpcc/driver.hpp"
#include "tpcc/populate.hpp"
#include "tpcc/profiles.hpp"
#include "tpcc/report.hpp"

namespace tpcc {
namespace {

using tutti::server::bad_argument;
using tutti::server::registry;

enum priority : int { of_delivery = 1, of_stock_level = 2, of_new_order = 3, of_order_status = 4, of_payment = 5 };

template <class N>
N within(N value, std::type_identity_t<N> low, std::type_identity_t<N> high, const char* what) {
    if (value < low || value > high) {
        throw bad_argument{std::string{what} + " is from " + std::to_string(low) + " to " + std::to_string(high) +
                           ", not " + std::to_string(value)};
    }
    return value;
}

/// Turns what clients send into inputs whose identifiers exist.
class reader {
public:
    explicit reader(const database& db) : db_{db} {}

    [[nodiscard]] warehouse_id warehouse(int w) const { return within(w, 1, db_.warehouse_count(), "a warehouse"); }
    [[nodiscard]] static district_id district(int d) { return within(d, 1, districts_per_warehouse, "a district"); }
    [[nodiscard]] customer_id customer(int c) const {
        return within(c, 1, db_.size().customers_per_district, "a customer");
    }
    [[nodiscard]] customer_choice choice(int w, int d, const std::string& who) const {
        customer_choice chosen{warehouse(w), district(d), 0, {}};
        int number = 0;
        const auto [end, failed] = std::from_chars(who.data(), who.data() + who.size(), number);
        if (failed == std::errc{} && end == who.data() + who.size()) chosen.id = customer(number);
        else chosen.last = text<16>{who};
        return chosen;
    }
    [[nodiscard]] new_order_input order(int w, int d, int c, const std::vector<int>& lines) const {
        if (lines.size() % 3 != 0) throw bad_argument{"a line of an order is an item, a warehouse and a quantity"};
        new_order_input in;
        in.warehouse = warehouse(w);
        in.district = district(d);
        in.customer = customer(c);
        in.line_count = within(static_cast<int>(lines.size() / 3), min_lines, max_lines, "the number of lines");
        for (std::size_t l = 0; l < lines.size() / 3; ++l) {
            in.lines[l] = {lines[3 * l], warehouse(lines[3 * l + 1]), within(lines[3 * l + 2], 1, 10, "a quantity")};
            in.all_local = in.all_local && in.lines[l].supply_warehouse == in.warehouse;
        }
        in.entered = wall_clock();
        return in;
    }

private:
    const database& db_;
};

/// How often each profile ran, and ran again.
class attempt_counts {
public:
    template <class Result>
    Result count(profile of, execution<Result> done) {
        one& o = all_[static_cast<std::size_t>(of)];
        o.executions.fetch_add(1, std::memory_order_relaxed);
        o.restarts.fetch_add(static_cast<long>(done.attempts) - 1, std::memory_order_relaxed);
        return std::move(done.result);
    }
    [[nodiscard]] std::vector<long> list() const {
        std::vector<long> numbers;
        for (const one& o : all_) {
            numbers.push_back(o.executions.load(std::memory_order_relaxed));
            numbers.push_back(o.restarts.load(std::memory_order_relaxed));
        }
        return numbers;
    }

private:
    struct one {
        std::atomic<long> executions{0}, restarts{0};
    };
    std::array<one, profile_count> all_;
};

const customer& somebody(const customer* found) {
    if (found == nullptr) throw bad_argument{"no customer has that name"};
    return *found;
}

std::unique_ptr<database> load(const registry& from) {
    const auto number = [&](const char* name, int otherwise, int low, int high) {
        const std::string given = from.setting(name, std::to_string(otherwise));
        return within(tutti::server::codec<int>::decode(given), low, high, name);
    };
    const int warehouses = number("warehouses", 1, 1, 1000);
    const int seed = number("seed", 7, 0, 1'000'000'000);
    const int shrink = number("shrink", 1, 1, 100);
    scale size;
    size.items /= shrink;
    size.customers_per_district /= shrink;
    size.orders_per_district /= shrink;
    std::unique_ptr<database> db =
        populate(size, warehouses, static_cast<std::uint64_t>(seed), std::max(1U, std::thread::hardware_concurrency()));
    db->computing = demand{number("demand", 0, 0, 10'000)};
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
    const reader read{*db};
    const auto counts = std::make_shared<attempt_counts>();

    server.add("new_order", {.priority = of_new_order},
               [db, read, counts](int w, int d, int c, const std::vector<int>& lines) {
                   const auto done = counts->count(profile::new_order, new_order(*db, read.order(w, d, c, lines)));
                   using shown = std::pair<order_id, cents>;
                   return done ? std::optional<shown>{{done->order, done->total}} : std::nullopt;
               });
    server.add("payment", {.priority = of_payment},
               [db, read, counts](int w, int d, int customer_w, int customer_d, const std::string& who, cents amount) {
                   const payment_input in{read.warehouse(w), reader::district(d),
                                          read.choice(customer_w, customer_d, who),
                                          within(amount, 1'00, 5000'00, "a payment in cents"), wall_clock()};
                   const auto done = counts->count(profile::payment, payment(*db, in));
                   return std::pair{somebody(done.payer).id, done.balance};
               });
    server.add("order_status", {.priority = of_order_status}, [db, read, counts](int w, int d, const std::string& who) {
        const auto done = counts->count(profile::order_status, order_status(*db, {read.choice(w, d, who)}));
        return std::tuple{somebody(done.who).id, done.balance, done.order, done.line_count};
    });
    server.add("delivery", {.priority = of_delivery}, [db, read, counts](int w, int carrier) {
        const delivery_input in{read.warehouse(w), within(carrier, 1, 10, "a carrier"), wall_clock()};
        const auto done = counts->count(profile::delivery, delivery(*db, in));
        return std::vector<order_id>(done.orders.begin(), done.orders.end());
    });
    server.add("stock_level", {.priority = of_stock_level}, [db, read, counts](int w, int d, int threshold) {
        const stock_level_input in{read.warehouse(w), reader::district(d), threshold};
        return counts->count(profile::stock_level, stock_level(*db, in)).low_stock;
    });
    server.add("scale", {.priority = of_payment}, [db] {
        const nurand_constants& c = db->constants();
        return std::vector<int>{db->warehouse_count(), db->size().items, db->size().customers_per_district,
                                c.last_name_run,       c.customer,       c.item};
    });
    server.add("attempts", {.priority = of_payment}, [counts] { return counts->list(); });
    server.at_end([db] { check(*db); });
}

}  // namespace
}  // namespace tpcc

TUTTI_PROCEDURES(server) { tpcc::add_procedures(server); }
