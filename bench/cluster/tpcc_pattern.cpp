#include "cluster/tpcc_pattern.hpp"

#include <algorithm>
#include <array>
#include <set>

namespace bench::cluster {
namespace {

constexpr std::uint64_t districts = 10, items = 1000, customers = 30, orders = 30, names = 30;
constexpr std::uint64_t pending = 9;  // orders of each district that are not yet delivered
constexpr std::uint64_t min_lines = 5, max_lines = 15;
constexpr std::uint64_t looked_back = 20;  // orders that Stock-Level reads

// The rows have the size of the program's rows, but only the columns that transactions need to find other rows.
struct warehouse {
    std::array<char, 100> columns{};
};
using district = warehouse;
struct amount {
    std::int64_t cents = 0;
};
struct number {
    std::uint32_t next = 0;
};
struct booked {
    std::int64_t cents = 0;
    std::uint64_t count = 0;
};
struct stock {
    std::uint32_t quantity = 50;
    std::array<char, 304> columns{};
};
struct customer {
    std::int64_t balance = 0;
    std::uint64_t last_order = 0;
    std::array<char, 680> columns{};
};
struct order {
    std::uint64_t buyer = 0, lines = 0;
    std::array<char, 16> columns{};
};
struct line {
    std::uint64_t item = 0, delivered = 0;
    std::array<char, 40> columns{};
};
struct item {
    std::array<char, 96> columns{};
};
struct entry_of_pending {
    std::array<char, 12> columns{};
};
struct history {
    std::array<char, 72> columns{};
};

enum table : std::uint64_t {
    of_items = 1,
    of_warehouses,
    of_ytd,
    of_districts,
    of_numbers,
    of_oldest,
    of_payments,
    of_stock,
    of_customers,
    of_names,
    of_orders,
    of_lines,
    of_pending,
    of_history,
};

object_id row(table t, std::uint64_t w, std::uint64_t d, std::uint64_t r) { return {t << 56 | w << 16 | d, r}; }
object_id row_of_line(std::uint64_t w, std::uint64_t d, std::uint64_t o, std::uint64_t l) {
    return row(of_lines, w, d, o * (max_lines + 1) + l);
}

/// Clause 2.1.6, without the constant, which only selects which values are frequent.
std::uint64_t non_uniform(dice& draw, std::uint64_t a, std::uint64_t n) {
    const std::uint64_t one = draw.below(a + 1);
    return (one | draw.below(n)) % n;
}
std::uint64_t any_item(dice& draw) { return 1 + non_uniform(draw, 8191, items); }
std::uint64_t any_customer(dice& draw) { return 1 + non_uniform(draw, 1023, customers); }

/// A customer, selected by number or, in 60 of 100 cases, by last name. An object maps a name to its customers.
struct buyer {
    std::uint64_t warehouse, district, number;
    bool by_name;
    [[nodiscard]] object_id self() const { return row(of_customers, warehouse, district, number); }
    [[nodiscard]] object_id first_read() const { return by_name ? row(of_names, warehouse, district, number) : self(); }
    static buyer any(dice& draw, std::uint64_t w, std::uint64_t d) {
        const bool by_name = draw.below(100) < 60;
        // A shrunk district has as many names as customers, so each name has one customer.
        return {w, d, by_name ? 1 + non_uniform(draw, 255, names) : any_customer(draw), by_name};
    }
};

class tpcc final : public pattern {
public:
    explicit tpcc(unsigned warehouses) : warehouses_{warehouses} {}

    /// Order-Status and Stock-Level only read.
    [[nodiscard]] std::optional<unsigned> reads_of_100() const noexcept override { return 8; }
    /// A Delivery is one transaction for each district (clause 2.7.4).
    [[nodiscard]] unsigned parts(dice draw, bool reads) const override {
        return !reads && kind_of(draw) == kind::delivery ? districts : 1;
    }

    void fill(const maker& make) const override {
        for (std::uint64_t i = 1; i <= items; ++i) make(row(of_items, 0, 0, i), bytes_of(item{}));
        dice draw{1};
        for (std::uint64_t w = 1; w <= warehouses_; ++w) {
            make(row(of_warehouses, w, 0, 0), bytes_of(warehouse{}));
            make(row(of_ytd, w, 0, 0), bytes_of(amount{}));
            for (std::uint64_t i = 1; i <= items; ++i) make(row(of_stock, w, 0, i), bytes_of(stock{}));
            for (std::uint64_t d = 1; d <= districts; ++d) fill_district(make, w, d, draw);
        }
    }
    void run(block& in, dice draw, bool reads) const override { run_part(in, draw, reads, 0); }
    void run_part(block& in, dice draw, bool reads, unsigned part) const override {
        const kind what = reads ? kind::order_status : kind_of(draw);
        const std::uint64_t w = 1 + draw.below(warehouses_), d = 1 + draw.below(districts);
        if (reads) return draw.below(2) == 0 ? order_status(in, buyer::any(draw, w, d)) : stock_level(in, draw, w, d);
        if (what == kind::new_order) return new_order(in, draw, w, d);
        if (what == kind::payment) return payment(in, draw, w, d);
        deliver(in, w, 1 + part);
    }

private:
    enum class kind { new_order, payment, delivery, order_status };
    /// Selects the kind of a writing transaction, in the ratio 45 to 43 to 4. Draws one number.
    static kind kind_of(dice& draw) {
        const std::uint64_t card = draw.below(92);
        return card < 45 ? kind::new_order : card < 88 ? kind::payment : kind::delivery;
    }

    static void fill_district(const maker& make, std::uint64_t w, std::uint64_t d, dice& draw) {
        make(row(of_districts, w, d, 0), bytes_of(district{}));
        make(row(of_numbers, w, d, 0), bytes_of(number{orders + 1}));
        make(row(of_oldest, w, d, 0), bytes_of(number{orders - pending + 1}));
        make(row(of_payments, w, d, 0), bytes_of(booked{0, customers}));
        for (std::uint64_t c = 1; c <= customers; ++c) {
            make(row(of_customers, w, d, c), bytes_of(customer{0, c, {}}));
            make(row(of_names, w, d, c), bytes_of(number{static_cast<std::uint32_t>(c)}));
            make(row(of_history, w, d, c), bytes_of(history{}));
        }
        for (std::uint64_t o = 1; o <= orders; ++o) {
            const std::uint64_t lines = min_lines + draw.below(max_lines - min_lines + 1);
            make(row(of_orders, w, d, o), bytes_of(order{o, lines, {}}));
            for (std::uint64_t l = 1; l <= lines; ++l)
                make(row_of_line(w, d, o, l), bytes_of(line{1 + draw.below(items), 0, {}}));
            if (o > orders - pending) make(row(of_pending, w, d, o), bytes_of(entry_of_pending{}));
        }
    }

    [[nodiscard]] std::uint64_t another(dice& draw, std::uint64_t than) const {
        if (warehouses_ == 1) return than;
        const std::uint64_t w = 1 + draw.below(warehouses_ - 1);
        return w < than ? w : w + 1;
    }

    void new_order(block& in, dice& draw, std::uint64_t w, std::uint64_t d) const {
        const std::uint64_t c = any_customer(draw), lines = min_lines + draw.below(max_lines - min_lines + 1);
        const object_id numbers = row(of_numbers, w, d, 0), buying = row(of_customers, w, d, c);
        std::vector<object_id> ids{row(of_warehouses, w, 0, 0), row(of_districts, w, d, 0), numbers, buying};
        std::vector<std::uint64_t> wanted;
        std::vector<object_id> from;
        for (std::uint64_t l = 0; l < lines; ++l) {
            wanted.push_back(any_item(draw));
            from.push_back(row(of_stock, draw.below(100) == 0 ? another(draw, w) : w, 0, wanted.back()));
            ids.push_back(row(of_items, 0, 0, wanted.back()));
            ids.push_back(from.back());
        }
        const bool mistaken = draw.below(100) == 0;
        if (mistaken) ids.push_back(row(of_items, 0, 0, items + 1));
        in.open(ids);
        if (mistaken) return;

        const std::uint64_t o = in.read<number>(numbers).next;
        ids = {row(of_orders, w, d, o), row(of_pending, w, d, o)};
        for (std::uint64_t l = 1; l <= lines; ++l) ids.push_back(row_of_line(w, d, o, l));
        in.open(ids);
        in.write(numbers, number{static_cast<std::uint32_t>(o + 1)});
        in.write(ids[0], order{c, lines, {}});
        in.write(ids[1], entry_of_pending{});
        for (std::uint64_t l = 0; l < lines; ++l) {
            stock s = in.read<stock>(from[l]);
            s.quantity = s.quantity > 20 ? s.quantity - 5 : s.quantity + 86;
            in.write(from[l], s);
            in.write(ids[2 + l], line{wanted[l], 0, {}});
        }
        customer who = in.read<customer>(buying);
        who.last_order = o;
        in.write(buying, who);
    }

    void payment(block& in, dice& draw, std::uint64_t w, std::uint64_t d) const {
        const bool at_home = draw.below(100) < 85;
        const buyer who = buyer::any(draw, at_home ? w : another(draw, w), at_home ? d : 1 + draw.below(districts));
        const object_id ytd = row(of_ytd, w, 0, 0), payments = row(of_payments, w, d, 0);
        in.open(std::array{row(of_warehouses, w, 0, 0), ytd, row(of_districts, w, d, 0), payments, who.first_read()});
        booked b = in.read<booked>(payments);
        const object_id entry = row(of_history, w, d, b.count + 1);
        in.open(std::array{who.self(), entry});
        in.write(ytd, amount{in.read<amount>(ytd).cents + 1});
        ++b.count;
        in.write(payments, b);
        customer payer = in.read<customer>(who.self());
        --payer.balance;
        in.write(who.self(), payer);
        in.write(entry, history{});
    }

    static void deliver(block& in, std::uint64_t w, std::uint64_t d) {
        const object_id oldest = row(of_oldest, w, d, 0);
        const std::uint32_t o = in.read<number>(oldest).next;
        const object_id entry = row(of_pending, w, d, o), delivered = row(of_orders, w, d, o);
        in.open(std::array{entry, delivered});
        if (!in.exists(entry)) return;
        const auto about = in.read<order>(delivered);
        const object_id buying = row(of_customers, w, d, about.buyer);
        std::vector<object_id> ids{buying};
        for (std::uint64_t l = 1; l <= about.lines; ++l) ids.push_back(row_of_line(w, d, o, l));
        in.open(ids);
        in.erase(entry);
        in.write(oldest, number{o + 1});
        in.write(delivered, about);
        for (std::uint64_t l = 1; l <= about.lines; ++l) {
            auto one = in.read<line>(ids[l]);
            one.delivered = 1;
            in.write(ids[l], one);
        }
        customer who = in.read<customer>(buying);
        ++who.balance;
        in.write(buying, who);
    }

    static void order_status(block& in, const buyer& who) {
        if (who.by_name) static_cast<void>(in.read<number>(who.first_read()));
        const std::uint64_t o = in.read<customer>(who.self()).last_order;
        const auto latest = in.read<order>(row(of_orders, who.warehouse, who.district, o));
        std::vector<object_id> ids;
        for (std::uint64_t l = 1; l <= latest.lines; ++l) ids.push_back(row_of_line(who.warehouse, who.district, o, l));
        in.open(ids);
    }

    static void stock_level(block& in, dice& /*draw*/, std::uint64_t w, std::uint64_t d) {
        const std::uint64_t next = in.read<number>(row(of_numbers, w, d, 0)).next;
        std::vector<object_id> ids;
        for (std::uint64_t o = next - looked_back; o < next; ++o) ids.push_back(row(of_orders, w, d, o));
        in.open(ids);
        std::vector<object_id> lines;
        for (std::uint64_t o = next - looked_back; o < next; ++o) {
            const std::uint64_t count = in.read<order>(row(of_orders, w, d, o)).lines;
            for (std::uint64_t l = 1; l <= count; ++l) lines.push_back(row_of_line(w, d, o, l));
        }
        in.open(lines);
        std::set<std::uint64_t> sold;
        for (const object_id& l : lines) sold.insert(in.read<line>(l).item);
        ids.clear();
        for (const std::uint64_t i : sold) ids.push_back(row(of_stock, w, 0, i));
        in.open(ids);
    }

    const std::uint64_t warehouses_;
};

}  // namespace

std::unique_ptr<pattern> make_tpcc(unsigned warehouses) { return std::make_unique<tpcc>(warehouses); }

}  // namespace bench::cluster
