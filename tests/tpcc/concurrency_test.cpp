// Many threads on little data: no update is lost, and no thread sees half of a transaction.
#include <gtest/gtest.h>

#include <atomic>
#include <new>
#include <thread>

#include "fixture.hpp"
#include "support/effort.hpp"
#include "support/heap.hpp"
#include "tpcc/consistency.hpp"
#include "tpcc/driver.hpp"
#include "tpcc/profiles.hpp"

namespace tpcc {
namespace {

const profile_statistics& statistics_of(const run_result& r, profile p) {
    return r.profiles[static_cast<std::size_t>(p)];
}

std::size_t order_count(const database& db) {
    std::size_t orders = 0;
    for (warehouse_id w = 1; w <= db.warehouse_count(); ++w) {
        for (const district& d : db.warehouse_at(w).districts) orders += rows_of(d.orders).size();
    }
    return orders;
}

std::size_t payment_count(const database& db) {
    std::size_t payments = 0;
    for (warehouse_id w = 1; w <= db.warehouse_count(); ++w) {
        for (const district& d : db.warehouse_at(w).districts) payments += payments_of(d).size();
    }
    return payments;
}

/// For runs that another event ends.
constexpr std::chrono::hours for_ever{1};

/// The number of transactions for each thread: whole decks, so that every profile has its share on a machine of any
/// speed.
std::uint64_t transactions() { return 100 * tutti::support::rounds(150); }

void run_and_check(int warehouses, const profile_mix& mix) {
    const auto db = tiny_database(warehouses);
    const std::size_t orders = order_count(*db);
    const std::size_t payments = payment_count(*db);
    const run_result result =
        run_mix(*db, {.threads = 4, .time = for_ever, .transactions = transactions(), .mix = mix, .seed = 7});

    EXPECT_EQ(violated(*db), std::set<int>{});
    EXPECT_EQ(order_count(*db), orders + statistics_of(result, profile::new_order).commits);
    EXPECT_EQ(payment_count(*db), payments + statistics_of(result, profile::payment).commits);
    for (std::size_t p = 0; p < profile_count; ++p) {
        const profile_statistics& counted = result.profiles[p];
        EXPECT_EQ(counted.commits + counted.rolled_back, 4 * transactions() / 100 * static_cast<std::uint64_t>(mix[p]))
            << profile_names[p];
        EXPECT_EQ(counted.commits > 0, mix[p] > 0) << profile_names[p];
        EXPECT_EQ(counted.turnaround.total(), counted.commits + counted.rolled_back);
    }
}

TEST(tpcc_concurrency, standard_mix_on_one_warehouse) { run_and_check(1, standard_mix); }
TEST(tpcc_concurrency, standard_mix_on_three_warehouses) { run_and_check(3, standard_mix); }
TEST(tpcc_concurrency, deliveries_catch_up_with_new_orders) { run_and_check(1, {50, 0, 0, 50, 0}); }
TEST(tpcc_concurrency, payments_only) { run_and_check(2, {0, 100, 0, 0, 0}); }

// While the mix runs, readers check relations that hold only between transactions.
TEST(tpcc_concurrency, readers_never_see_half_a_transaction) {
    const auto db = tiny_database(1);
    std::atomic<bool> stop = false;
    std::atomic<int> halves = 0;
    std::atomic<int> audits = 0;
    std::jthread auditor{[&] {
        for (; !stop.load(); audits.notify_one()) {
            const bool whole = tutti::atomically({.name = "audit", .read_only = true}, [&](tutti::tx& t) {
                const warehouse& w = db->warehouse_at(1);
                cents ytd = 0;
                bool good = true;
                for (const district& d : w.districts) {
                    ytd += d.ytd.get(t);
                    const order_id next = d.next_order.get(t);
                    if (d.orders.size(t) != static_cast<std::size_t>(next - 1)) return false;
                    const order* const newest = &d.order_at(t, next - 1);
                    // A delivery writes the carrier and the lines in one transaction.
                    for (int l = 0; l < newest->line_count; ++l) {
                        const bool delivered =
                            newest->lines[static_cast<std::size_t>(l)].delivered.get(t) != not_delivered;
                        good = good && delivered == (newest->carrier.get(t) != no_carrier);
                    }
                }
                return good && ytd == w.ytd.get(t);
            });
            halves += whole ? 0 : 1;
            ++audits;
        }
    }};
    audits.wait(0);  // from here on it audits all the time
    static_cast<void>(run_mix(
        *db, {.threads = 3, .time = for_ever, .transactions = transactions(), .mix = {40, 40, 0, 20, 0}, .seed = 7}));
    stop.store(true);
    auditor.join();
    EXPECT_EQ(halves.load(), 0);
    EXPECT_EQ(violated(*db), std::set<int>{});
}

TEST(tpcc_concurrency, the_mix_is_exact_in_every_hundred) {
    const auto db = tiny_database(1);
    const run_result result =
        run_mix(*db, {.threads = 1, .time = std::chrono::duration<double>{0.2}, .mix = {10, 20, 30, 0, 40}, .seed = 7});
    EXPECT_GE(result.seconds, 0.2);
    std::uint64_t all = 0;
    for (const profile_statistics& t : result.profiles) all += t.commits + t.rolled_back;
    const std::array<std::uint64_t, profile_count> share{10, 20, 30, 0, 40};
    for (std::size_t p = 0; p < profile_count; ++p) {
        const std::uint64_t count = result.profiles[p].commits + result.profiles[p].rolled_back;
        // The last deck may be incomplete.
        EXPECT_GE(count, all / 100 * share[p]);
        EXPECT_LE(count, (all / 100 + 1) * share[p]);
    }
}

TEST(tpcc_concurrency, what_a_transaction_throws_ends_the_run) {
    const auto db = tiny_database(1);
    const std::size_t orders = order_count(*db);
    tutti::support::refuse_anywhere_after = 1000;  // each new order allocates; other code allocates far less often
    EXPECT_THROW(static_cast<void>(run_mix(*db, {.threads = 2, .time = for_ever, .mix = {100, 0, 0, 0, 0}, .seed = 7})),
                 std::bad_alloc);
    EXPECT_GT(order_count(*db), orders);
    for (const verdict& v : check_consistency(*db, moment::after_run)) EXPECT_EQ(v.violated, 0U) << v.first_violation;
}

}  // namespace
}  // namespace tpcc
