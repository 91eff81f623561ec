#include "tpcc/populate.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <numeric>
#include <thread>

#include "tpcc/clock.hpp"
#include "tpcc/strings.hpp"

namespace tpcc {
namespace {

// ITEM and STOCK are loaded in ranges of this many rows, about as much work as a district.
constexpr int range_size = 10'000;

void load_items(database& db, item_id first, item_id last, random_source random) {
    for (item_id i = first; i <= last; ++i) {
        item& row = db.item_at(i);
        row.id = i;
        row.image = random.uniform(1, 10'000);
        make_a_string(random, row.name, 14, 24);
        row.price = random.uniform(1'00, 100'00);
        make_data(random, row.data);
    }
}

void load_warehouse(warehouse& row, const scale& size, random_source random) {
    make_a_string(random, row.name, 6, 10);
    make_address(random, row.where);
    row.tax = random.uniform(0, 2000);
    // 300,000.00 at full scale: 10.00 from the one payment of each customer (condition 8).
    row.ytd.store(cents{10'00} * size.customers_per_district * districts_per_warehouse);
}

void load_stock(database& db, warehouse_id w, item_id first, item_id last, random_source random) {
    for (item_id i = first; i <= last; ++i) {
        stock& row = db.stock_at(w, i);
        row.item = i;
        row.warehouse = w;
        row.quantity.store(random.uniform(10, 100));
        for (auto& info : row.district_info) fill_letters(random, info);
        make_data(random, row.data);
    }
}

void load_customers(district& in, const database& db, random_source& random, timestamp now) {
    customer_id id = 0;
    for (customer& row : in.customers) {
        row.id = ++id;
        row.district = in.id;
        row.warehouse = in.warehouse;
        const int names = db.size().last_names();
        row.last = last_name(
            id <= names ? id - 1 : random.nurand(nurand_last_name, 0, names - 1, db.constants().last_name_load));
        row.middle = text<2>{"OE"};
        make_a_string(random, row.first, 8, 16);
        make_address(random, row.where);
        fill_digits(random, row.phone.resize(16));
        row.since = now;
        row.credit = text<2>{random.percent(10) ? "BC" : "GC"};
        row.credit_limit = 50'000'00;
        row.discount = random.uniform(0, 5000);
        row.balance.store(-10'00);
        row.ytd_payment.store(10'00);
        row.payment_count.store(1);
        text<500> data;
        make_a_string(random, data, 300, 500);
        row.data.store(data);

        history payment{id, in.id, in.warehouse, in.id, in.warehouse, now, 10'00, {}};
        make_a_string(random, payment.data, 12, 24);
        tutti::atomically({.name = "load history"}, [&](tutti::tx& t) { in.payments.push_back(t, payment); });
    }
    in.names.build(in.customers);
    in.ytd.store(cents{10'00} * db.size().customers_per_district);
}

void load_order(district& in, const scale& size, order_id id, customer& buyer, random_source& random, timestamp now) {
    const bool pending = id > size.orders_per_district - size.pending_per_district();
    const int line_count = random.uniform(min_lines, max_lines);
    // No other thread can reach the district before the end of the load, so the plain columns may be filled in later.
    order& row = *tutti::atomically({.name = "load order"}, [&](tutti::tx& t) {
        order* const made = tutti::create<order>(t, id, in.id, in.warehouse, buyer.id, now, line_count, true);
        in.orders.push_back(t, made);
        if (pending) in.new_orders.push(t, {id, in.id, in.warehouse});
        return made;
    });
    buyer.last_order.store(&row);
    if (!pending) row.carrier.store(random.uniform(1, 10));
    for (int l = 1; l <= line_count; ++l) {
        order_line& line = row.lines[static_cast<std::size_t>(l - 1)];
        line.number = static_cast<std::int8_t>(l);
        line.item = random.uniform(1, size.items);
        line.supply_warehouse = in.warehouse;
        line.quantity = 5;
        line.amount = pending ? random.uniform(1, 9999'99) : 0;
        if (!pending) line.delivered.store(now);
        fill_letters(random, line.district_info);
    }
}

void load_district(database& db, warehouse_id w, district_id d, random_source random) {
    const timestamp now = wall_clock();
    district& row = db.district_at(w, d);
    make_a_string(random, row.name, 6, 10);
    make_address(random, row.where);
    row.tax = random.uniform(0, 2000);
    load_customers(row, db, random, now);

    // Every customer has one order, in random order.
    std::vector<customer_id> buyers(row.customers.size());
    std::iota(buyers.begin(), buyers.end(), 1);
    for (std::size_t i = buyers.size() - 1; i > 0; --i) {
        std::swap(buyers[i], buyers[static_cast<std::size_t>(random.uniform(0, static_cast<int>(i)))]);
    }
    for (order_id o = 1; o <= db.size().orders_per_district; ++o) {
        const customer_id buyer = buyers[static_cast<std::size_t>(o - 1) % buyers.size()];
        load_order(row, db.size(), o, db.customer_at(w, d, buyer), random, now);
    }
    row.next_order.store(db.size().orders_per_district + 1);
}

using task = std::function<void()>;

std::vector<task> tasks_for(database& db, std::uint64_t seed) {
    std::vector<task> tasks;
    const auto source = [seed](purpose what, int w, int part) {
        return random_source{
            derive_seed(seed, what, static_cast<std::uint64_t>(w) << 32 | static_cast<unsigned>(part))};
    };
    for (item_id first = 1; first <= db.size().items; first += range_size) {
        const item_id last = std::min(first + range_size - 1, db.size().items);
        tasks.push_back([=, &db] { load_items(db, first, last, source(purpose::items, 0, first)); });
    }
    for (warehouse_id w = 1; w <= db.warehouse_count(); ++w) {
        tasks.push_back([=, &db] { load_warehouse(db.warehouse_at(w), db.size(), source(purpose::stock, w, 0)); });
        for (item_id first = 1; first <= db.size().items; first += range_size) {
            const item_id last = std::min(first + range_size - 1, db.size().items);
            tasks.push_back([=, &db] { load_stock(db, w, first, last, source(purpose::stock, w, first)); });
        }
        for (district_id d = 1; d <= districts_per_warehouse; ++d) {
            tasks.push_back([=, &db] { load_district(db, w, d, source(purpose::district, w, d)); });
        }
    }
    return tasks;
}

}  // namespace

std::unique_ptr<database> populate(const scale& size, int warehouses, std::uint64_t seed, unsigned threads,
                                   const load_progress& progress) {
    auto db = std::make_unique<database>(size, warehouses, nurand_constants::from_seed(seed));
    const std::vector<task> tasks = tasks_for(*db, seed);
    std::atomic<std::size_t> next = 0;
    std::mutex mutex;  // guards done, failure and the calls of progress
    std::size_t done = 0;
    std::exception_ptr failure;

    const auto work = [&] {
        for (std::size_t mine; (mine = next.fetch_add(1)) < tasks.size();) {
            std::exception_ptr thrown;
            try {
                tasks[mine]();
            } catch (...) {
                thrown = std::current_exception();
            }
            const std::scoped_lock lock{mutex};
            if (thrown != nullptr) {
                failure = thrown;
                next.store(tasks.size());
            }
            ++done;
            if (progress) progress(done, tasks.size());
        }
    };
    {
        std::vector<std::jthread> helpers;
        for (unsigned i = 1; i < threads; ++i) helpers.emplace_back(work);
        work();
    }
    if (failure != nullptr) std::rethrow_exception(failure);
    return db;
}

}  // namespace tpcc
