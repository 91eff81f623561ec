// The five profiles as procedures of servers that are nodes of a cluster: `tutti serve tpcc-cluster-procedures.so
// --cluster nodes.toml`. The calls are those of apps/tpcc/procedures.cpp, and
//
//   CALL check {w}…   -> for each consistency condition: its number, how many cases were compared and how many violated
//                        it, the first violation; only for these warehouses, if others are lost
//   CALL counts w     -> orders and payments of a warehouse, W_YTD
//   CALL place w      -> the number of the node that runs the calls about it
//
// A call is about one warehouse, and runs on the server that has this warehouse, whichever server the terminal asks.
// Rows of other warehouses, such as the stock of remote order lines and remote customers, are committed across nodes.
//
// Settings: warehouses (as many as servers), seed, shrink (100), spread. spread is by-warehouse or anywhere. With
// anywhere, the hash of a row's key determines its home, which shows the benefit of keeping a warehouse's rows
// together.
#include <algorithm>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include <tutti/tutti.hpp>

#include "cluster/tpcc/copies.hpp"
#include "cluster/tpcc/fault_injection.hpp"
#include "cluster/tpcc/profiles.hpp"
#include "cluster/tpcc/sharing.hpp"
#include "tpcc/consistency.hpp"
#include "tpcc/served.hpp"

namespace tpcc::remote {
namespace {

using namespace served;

struct database_here {
    tables rows;
    served::extent size;
    nurand_constants constants;
    attempt_counts counts;
};

/// Returns orders, payments and W_YTD. The block is not read-only: a snapshot may be older than a call that another
/// server has replied to.
std::tuple<long, long, cents> counts_of(const tables& rows, warehouse_id w) {
    return tutti::atomically({.name = "counts"}, [&](tutti::tx& t) {
        wanted all;
        all << rows.ytd_of(w);
        for (district_id d = 1; d <= districts_per_warehouse; ++d)
            all << rows.numbers_of(w, d) << rows.payments_of(w, d);
        all.open(t, rows);
        long orders = 0, paid = 0;
        for (district_id d = 1; d <= districts_per_warehouse; ++d) {
            orders += rows.numbers_of(w, d).read(t).next - 1;
            paid += rows.payments_of(w, d).read(t).count;
        }
        return std::tuple{orders, paid, rows.ytd_of(w).read(t).amount};
    });
}

using shown_verdict = std::tuple<int, std::uint64_t, std::uint64_t, std::string>;

std::vector<shown_verdict> check(const database_here& db, const std::vector<warehouse_id>& left) {
    const scale& size = db.size.size;
    const auto copies = collect(db.rows, size, db.size.warehouses, db.constants, left);
    std::vector<shown_verdict> all;
    for (const verdict& v : check_consistency(*copies, left.empty() ? moment::after_run : moment::after_loss, left)) {
        all.emplace_back(v.condition, v.compared, v.violated, v.first_violation);
    }
    return all;
}

#if defined(TUTTI_TPCC_FAULTS)
/// For the tests of the check.
void inject(const registry& from) {
    const std::string name = from.setting("fault", "none");
    if (name == "remote-stock") injected_fault = fault::remote_stock;
    else if (name == "remote-payer") injected_fault = fault::remote_payer;
    else if (name == "lost-line") injected_fault = fault::lost_line;
    else if (name != "none") throw bad_argument{"there is no fault " + name};
}
#else
void inject(const registry& /*from*/) {}
#endif

spread spread_of(const registry& from) {
    const std::string name = from.setting("spread", "by-warehouse");
    if (name == "by-warehouse") return spread::by_warehouse;
    if (name == "anywhere") return spread::anywhere;
    throw bad_argument{"spread is by-warehouse or anywhere, not '" + name + "'"};
}

void add_procedures(registry& server) {
    const tutti::cluster::node& n = server.cluster();
    inject(server);
    const served::extent how =
        served::extent::of(server, {.warehouses = static_cast<int>(n.nodes()), .shrink = 100, .size = {}});
    const auto db = std::make_shared<database_here>(tables{n, spread_of(server)}, how,
                                                    nurand_constants::from_seed(static_cast<std::uint64_t>(how.seed)));
    load_together(db->rows, how);
    const reader read{how.size, how.warehouses};
    const auto at = [rows = db->rows](int w) { return rows.warehouse_at(w).id(); };

    server.add(
        "new_order", {.priority = of_new_order},
        [db, read](int w, int d, int c, const std::vector<int>& lines) {
            const auto done = db->counts.count(profile::new_order, new_order(db->rows, read.order(w, d, c, lines)));
            using shown = std::pair<order_id, cents>;
            return done ? std::optional<shown>{{done->order, done->total}} : std::nullopt;
        },
        at);
    server.add(
        "payment", {.priority = of_payment},
        [db, read](int w, int d, int customer_w, int customer_d, const std::string& who, cents amount) {
            const payment_input in = read.payment(w, d, read.choice(customer_w, customer_d, who), amount);
            const booked_payment done = db->counts.count(profile::payment, payment(db->rows, in));
            return std::pair{somebody(done.payer), done.balance};
        },
        at);
    server.add(
        "order_status", {.priority = of_order_status},
        [db, read](int w, int d, const std::string& who) {
            const shown_order done =
                db->counts.count(profile::order_status, order_status(db->rows, {read.choice(w, d, who)}));
            return std::tuple{somebody(done.who), done.balance, done.order, done.line_count};
        },
        at);
    server.add(
        "delivery", {.priority = of_delivery},
        [db, read](int w, int carrier) {
            const auto done = db->counts.count(profile::delivery, delivery(db->rows, read.delivery(w, carrier)));
            return std::vector<order_id>(done.begin(), done.end());
        },
        at);
    server.add(
        "stock_level", {.priority = of_stock_level},
        [db, read](int w, int d, int threshold) {
            return db->counts.count(profile::stock_level, stock_level(db->rows, read.stock_level(w, d, threshold)));
        },
        at);
    server.add("scale", {.priority = of_payment},
               [db] { return answer_scale(db->size.size, db->size.warehouses, db->constants); });
    server.add("attempts", {.priority = of_payment}, [db] { return db->counts.list(); });
    server.add("check", {.priority = 0}, [db, read](const std::vector<int>& left) {
        for (const int w : left) static_cast<void>(read.warehouse(w));
        return check(*db, left);
    });
    server.add(
        "counts", {.priority = of_payment}, [db, read](int w) { return counts_of(db->rows, read.warehouse(w)); }, at);
    server.add("place", {.priority = of_payment}, [&n](int) { return n.number(); }, at);
}

}  // namespace
}  // namespace tpcc::remote

TUTTI_PROCEDURES(server) { tpcc::remote::add_procedures(server); }
