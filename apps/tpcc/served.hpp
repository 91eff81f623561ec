// The common part of the profiles as procedures of the transaction server: priorities, the parsing of arguments, and
// counts. This part does not depend on where the rows are. procedures.cpp lists the calls.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <tutti/server/procedure.hpp>

#include "tpcc/clock.hpp"
#include "tpcc/driver.hpp"
#include "tpcc/profiles.hpp"

namespace tpcc::served {

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

/// Returns a setting that is a number.
inline int number_of(const registry& from, const char* name, int otherwise, int low, int high) {
    const std::string given = from.setting(name, std::to_string(otherwise));
    return within(tutti::server::codec<int>::decode(given), low, high, name);
}

/// The extent that the settings warehouses, seed and shrink select.
struct extent {
    int warehouses = 1;
    int seed = 7;
    int shrink = 1;
    tpcc::scale size;  ///< divided by `shrink`

    static extent of(const registry& from, const extent& otherwise) {
        extent e;
        e.warehouses = number_of(from, "warehouses", otherwise.warehouses, 1, 1000);
        e.seed = number_of(from, "seed", otherwise.seed, 0, 1'000'000'000);
        e.shrink = number_of(from, "shrink", otherwise.shrink, 1, 100);
        e.size.items /= e.shrink;
        e.size.customers_per_district /= e.shrink;
        e.size.orders_per_district /= e.shrink;
        return e;
    }
};

/// Converts the clients' arguments to inputs with existing identifiers.
class reader {
public:
    reader(const scale& size, int warehouses) : size_{size}, warehouses_{warehouses} {}

    [[nodiscard]] warehouse_id warehouse(int w) const { return within(w, 1, warehouses_, "a warehouse"); }
    [[nodiscard]] static district_id district(int d) { return within(d, 1, districts_per_warehouse, "a district"); }
    [[nodiscard]] customer_id customer(int c) const { return within(c, 1, size_.customers_per_district, "a customer"); }
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
    [[nodiscard]] payment_input payment(int w, int d, customer_choice from, cents amount) const {
        return {warehouse(w), district(d), from, within(amount, 1'00, 5000'00, "a payment in cents"), wall_clock()};
    }
    [[nodiscard]] delivery_input delivery(int w, int carrier) const {
        return {warehouse(w), within(carrier, 1, 10, "a carrier"), wall_clock()};
    }
    [[nodiscard]] stock_level_input stock_level(int w, int d, int threshold) const {
        return {warehouse(w), district(d), threshold};
    }

private:
    scale size_;
    int warehouses_;
};

/// Returns the customer that a profile has found.
inline customer_id somebody(customer_id found) {
    if (found == 0) throw bad_argument{"no customer has that name"};
    return found;
}

/// Returns the parameters of a generator of inputs, the result of the procedure `scale`.
inline std::vector<int> answer_scale(const scale& size, int warehouses, const nurand_constants& c) {
    return {warehouses, size.items, size.customers_per_district, c.last_name_run, c.customer, c.item};
}

/// Counts the executions and restarts of each profile.
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

}  // namespace tpcc::served
