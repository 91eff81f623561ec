#include "tpcc/consistency.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include <fmt/format.h>

namespace tpcc {
namespace {

struct condition_text {
    std::string_view statement;
    std::string_view unit;
};

constexpr std::array<condition_text, 13> conditions{{
    {"W_YTD = sum(D_YTD)", "warehouses"},
    {"D_NEXT_O_ID - 1 = max(O_ID) = max(NO_O_ID)", "districts"},
    {"max(NO_O_ID) - min(NO_O_ID) + 1 = rows of NEW-ORDER", "districts"},
    {"sum(O_OL_CNT) = rows of ORDER-LINE", "districts"},
    {"O_CARRIER_ID is null if and only if there is a NEW-ORDER row", "orders"},
    {"O_OL_CNT = rows of ORDER-LINE", "orders"},
    {"OL_DELIVERY_D is null if and only if O_CARRIER_ID is", "order lines"},
    {"W_YTD = sum(H_AMOUNT)", "warehouses"},
    {"D_YTD = sum(H_AMOUNT)", "districts"},
    {"C_BALANCE = sum(OL_AMOUNT) - sum(H_AMOUNT)", "customers"},
    {"rows of ORDER - rows of NEW-ORDER = orders loaded as delivered", "districts"},
    {"C_BALANCE + C_YTD_PAYMENT = sum(OL_AMOUNT)", "customers"},
    {"S_YTD, S_ORDER_CNT, S_REMOTE_CNT = what lines took (2.4.2.2)", "stock rows"},
}};

/// Condition 11 is about the load. Conditions 10 and 13 compare the rows of a warehouse with those of all others.
constexpr bool applies(int condition, moment when) {
    if (when == moment::after_loss && (condition == 10 || condition == 13)) return false;
    return when == moment::after_load || condition != 11;
}

class checker {
public:
    checker(const database& db, std::span<const warehouse_id> among)
        : db_{db},
          among_{among.begin(), among.end()},
          warehouse_payments_(static_cast<std::size_t>(db.warehouse_count())),
          district_payments_(warehouse_payments_.size() * districts_per_warehouse),
          customers_(district_payments_.size() * static_cast<std::size_t>(db.size().customers_per_district)),
          stocks_(warehouse_payments_.size() * static_cast<std::size_t>(db.size().items)) {
        if (among.empty()) {
            for (warehouse_id w = 1; w <= db.warehouse_count(); ++w) among_.push_back(w);
        }
        for (std::size_t i = 0; i < conditions.size(); ++i) {
            verdicts_[i] = verdict_of(static_cast<int>(i + 1));
        }
    }

    std::vector<verdict> run(moment when) {
        for_each_district([&](const district& d) {
            check_orders(d, when);
            add_payments(d);
        });
        // All payments are known only now: a customer may have paid at any warehouse.
        for (const warehouse_id w : among_) check_warehouse(db_.warehouse_at(w));
        for_each_district([&](const district& d) { check_customers(d); });

        std::vector<verdict> all{verdicts_.begin(), verdicts_.end()};
        std::erase_if(all, [when](const verdict& v) { return !applies(v.condition, when); });
        return all;
    }

private:
    /// Sums over the rows that belong to one customer.
    struct customer_sums {
        cents delivered = 0;
        cents paid = 0;
    };
    /// Sums for a stock row, over the lines of orders that were not loaded.
    struct stock_sums {
        int quantity = 0, lines = 0, remote = 0;
        friend bool operator==(const stock_sums&, const stock_sums&) = default;
    };

    template <class F>
    void for_each_district(F f) const {
        for (const warehouse_id w : among_) {
            for (const district& d : db_.warehouse_at(w).districts) f(d);
        }
    }

    /// Counts a comparison. `describe()` describes the first one that fails.
    template <class Describe>
    void expect(int condition, bool holds, Describe describe) {
        verdict& v = verdicts_[static_cast<std::size_t>(condition - 1)];
        ++v.compared;
        if (holds) return;
        if (++v.violated == 1) v.first_violation = describe();
    }

    std::size_t district_index(warehouse_id w, district_id d) const {
        return static_cast<std::size_t>(w - 1) * districts_per_warehouse + static_cast<std::size_t>(d - 1);
    }
    /// Returns null if the row names a customer that does not exist.
    customer_sums* sums_of(warehouse_id w, district_id d, customer_id c) {
        const int customers = db_.size().customers_per_district;
        if (w < 1 || w > db_.warehouse_count() || d < 1 || d > districts_per_warehouse || c < 1 || c > customers) {
            return nullptr;
        }
        return &customers_[district_index(w, d) * static_cast<std::size_t>(customers) +
                           static_cast<std::size_t>(c - 1)];
    }

    /// Returns null if the row names a stock that does not exist.
    stock_sums* sums_of(warehouse_id w, item_id i) {
        if (w < 1 || w > db_.warehouse_count() || i < 1 || i > db_.size().items) return nullptr;
        return &stocks_[static_cast<std::size_t>(w - 1) * static_cast<std::size_t>(db_.size().items) +
                        static_cast<std::size_t>(i - 1)];
    }

    void check_orders(const district& d, moment when) {
        struct {
            order_id smallest = std::numeric_limits<order_id>::max();
            order_id largest = 0;
            std::int64_t rows = 0;
        } pending;
        std::vector<order_id> pending_ids;
        for (const new_order_row& row : rows_of(d.new_orders)) {
            pending.smallest = std::min(pending.smallest, row.order);
            pending.largest = std::max(pending.largest, row.order);
            ++pending.rows;
            pending_ids.push_back(row.order);
        }
        std::ranges::sort(pending_ids);

        std::int64_t orders = 0, lines_announced = 0, lines = 0, pending_orders = 0;
        order_id last_order = 0;
        for (const order* const row : rows_of(d.orders)) {
            const order& o = *row;
            ++orders;
            last_order = std::max(last_order, o.id);
            lines_announced += o.line_count;
            const bool is_pending = std::ranges::binary_search(pending_ids, o.id);
            pending_orders += is_pending ? 1 : 0;
            const carrier_id carrier = o.carrier.load();
            expect(5, (carrier == no_carrier) == is_pending, [&] {
                return fmt::format("warehouse {} district {} order {}: carrier {}, NEW-ORDER row: {}", d.warehouse,
                                   d.id, o.id, carrier, is_pending ? "yes" : "no");
            });
            lines += check_lines(d, o, carrier);
        }

        const order_id next = d.next_order.load();
        // The second half of both conditions about NEW-ORDER does not apply to a district without pending orders.
        expect(2, next - 1 == last_order && (pending.rows == 0 || next - 1 == pending.largest), [&] {
            return fmt::format("warehouse {} district {}: {}, {} and {}", d.warehouse, d.id, next - 1, last_order,
                               pending.largest);
        });
        expect(3, pending.rows == 0 || pending.largest - pending.smallest + 1 == pending.rows, [&] {
            return fmt::format("warehouse {} district {}: {} to {}, but {} rows", d.warehouse, d.id, pending.smallest,
                               pending.largest, pending.rows);
        });
        expect(4, lines_announced == lines, [&] {
            return fmt::format("warehouse {} district {}: {} and {}", d.warehouse, d.id, lines_announced, lines);
        });
        // A NEW-ORDER row has no order, or two rows have the same order.
        if (pending_orders != pending.rows) {
            expect(5, false, [&] {
                return fmt::format("warehouse {} district {}: {} NEW-ORDER rows belong to {} orders", d.warehouse, d.id,
                                   pending.rows, pending_orders);
            });
        }
        if (when == moment::after_load) {
            const int delivered = db_.size().orders_per_district - db_.size().pending_per_district();
            expect(11, orders - pending.rows == delivered, [&] {
                return fmt::format("warehouse {} district {}: {} - {} is not {}", d.warehouse, d.id, orders,
                                   pending.rows, delivered);
            });
        }
    }

    /// Returns the number of order lines.
    int check_lines(const district& d, const order& o, carrier_id carrier) {
        customer_sums* const buyer = sums_of(d.warehouse, d.id, o.customer);
        int rows = 0;
        for (const order_line& line : o.lines) {
            if (line.number == 0) continue;
            ++rows;
            const timestamp delivered = line.delivered.load();
            if (delivered != not_delivered && buyer != nullptr) buyer->delivered += line.amount;
            if (o.id > db_.size().orders_per_district) add_taken(d, line);
            expect(7, (delivered == not_delivered) == (carrier == no_carrier), [&] {
                return fmt::format("warehouse {} district {} order {} line {}: delivered at {}, carrier {}",
                                   d.warehouse, d.id, o.id, line.number, delivered, carrier);
            });
        }
        expect(6, o.line_count == rows, [&] {
            return fmt::format("warehouse {} district {} order {}: {} and {}", d.warehouse, d.id, o.id, o.line_count,
                               rows);
        });
        return rows;
    }

    void add_taken(const district& d, const order_line& line) {
        stock_sums* const from = sums_of(line.supply_warehouse, line.item);
        if (from == nullptr) return;
        from->quantity += line.quantity;
        ++from->lines;
        if (line.supply_warehouse != d.warehouse) ++from->remote;
    }

    /// Uses the columns of the rows, not the tables that contain them.
    void add_payments(const district& d) {
        for (const history& h : rows_of(d.payments)) {
            if (customer_sums* const payer = sums_of(h.customer_warehouse, h.customer_district, h.customer)) {
                payer->paid += h.amount;
            }
            if (sums_of(h.warehouse, h.district, 1) == nullptr) continue;
            warehouse_payments_[static_cast<std::size_t>(h.warehouse - 1)] += h.amount;
            district_payments_[district_index(h.warehouse, h.district)] += h.amount;
        }
    }

    void check_warehouse(const warehouse& w) {
        const cents ytd = w.ytd.load();
        cents districts = 0;
        for (const district& d : w.districts) {
            const cents in_district = d.ytd.load();
            districts += in_district;
            const cents paid = district_payments_[district_index(w.id, d.id)];
            expect(9, in_district == paid, [&] {
                return fmt::format("warehouse {} district {}: {} and {} cents", w.id, d.id, in_district, paid);
            });
        }
        expect(1, ytd == districts, [&] { return fmt::format("warehouse {}: {} and {} cents", w.id, ytd, districts); });
        const cents paid = warehouse_payments_[static_cast<std::size_t>(w.id - 1)];
        expect(8, ytd == paid, [&] { return fmt::format("warehouse {}: {} and {} cents", w.id, ytd, paid); });
        for (const stock& s : w.stocks) {
            const stock_sums given{s.ytd.load(), s.order_count.load(), s.remote_count.load()};
            const stock_sums& taken = *sums_of(w.id, static_cast<item_id>(&s - w.stocks.data()) + 1);
            expect(13, given == taken, [&] {
                return fmt::format("warehouse {} item {}: {} in {} lines, {} of them remote, and {} in {}, {}", w.id,
                                   &s - w.stocks.data() + 1, given.quantity, given.lines, given.remote, taken.quantity,
                                   taken.lines, taken.remote);
            });
        }
    }

    void check_customers(const district& d) {
        for (const customer& c : d.customers) {
            const customer_sums& sums = *sums_of(d.warehouse, d.id, c.id);
            const cents balance = c.balance.load();
            const cents ytd = c.ytd_payment.load();
            const auto describe = [&](cents left, cents right) {
                return fmt::format("warehouse {} district {} customer {}: {} and {} cents", d.warehouse, d.id, c.id,
                                   left, right);
            };
            expect(10, balance == sums.delivered - sums.paid,
                   [&] { return describe(balance, sums.delivered - sums.paid); });
            expect(12, balance + ytd == sums.delivered, [&] { return describe(balance + ytd, sums.delivered); });
        }
    }

    const database& db_;
    std::vector<warehouse_id> among_;
    std::array<verdict, conditions.size()> verdicts_;
    std::vector<cents> warehouse_payments_;
    std::vector<cents> district_payments_;
    std::vector<customer_sums> customers_;
    std::vector<stock_sums> stocks_;
};

}  // namespace

verdict verdict_of(int condition) {
    const condition_text& text = conditions.at(static_cast<std::size_t>(condition - 1));
    return {.condition = condition, .statement = text.statement, .unit = text.unit, .first_violation = {}};
}

std::vector<verdict> check_consistency(const database& db, moment when, std::span<const warehouse_id> among) {
    return checker{db, among}.run(when);
}

bool all_hold(const std::vector<verdict>& verdicts) {
    return std::ranges::all_of(verdicts, [](const verdict& v) { return v.violated == 0; });
}

}  // namespace tpcc
