// TPC-C's rows as objects of a cluster. The objects' names are the composite keys, so a row is found without a table.
// If the specification finds rows in another way, there is a small object for this:
//
//   a district's orders      1 to next - 1 of its order_numbers; their lines 1 to line_count
//   its oldest NEW-ORDER     pending_orders; the rows are those from there on, without a gap (condition 3)
//   its HISTORY              1 to count of its payments
//   customers by last name   namesakes, which no transaction writes
//
// Columns that different profiles write are in separate objects (clause 1.4.6 allows the vertical partitioning of a
// table): New-Order reads the taxes of a warehouse whose W_YTD each Payment writes.
#pragma once

#include <vector>

#include <tutti/cluster/ref.hpp>

#include "tpcc/rows.hpp"

namespace tpcc::remote {

struct warehouse_row {
    text<10> name;
    address where;
    rate tax = 0;
};

struct district_row {
    text<10> name;
    address where;
    rate tax = 0;
};

struct year_to_date {
    cents amount = 0;
};

struct order_numbers {
    order_id next = 1;  ///< D_NEXT_O_ID
};

struct pending_orders {
    order_id oldest = 1;  ///< the number of the oldest NEW-ORDER row, or of the next order if none is pending
};

struct payments {
    cents ytd = 0;           ///< D_YTD
    std::int32_t count = 0;  ///< number of HISTORY rows with this H_W_ID and H_D_ID
};

struct stock_row {
    std::int32_t quantity = 0;
    std::int32_t ytd = 0;
    std::int32_t order_count = 0;
    std::int32_t remote_count = 0;
    std::array<std::array<char, 24>, districts_per_warehouse> district_info{};
    text<50> data;
};

struct order_row {
    customer_id customer = 0;
    timestamp entered = 0;
    std::int32_t line_count = 0;
    bool all_local = true;
    carrier_id carrier = no_carrier;
};

struct line_row {
    timestamp delivered = not_delivered;
    cents amount = 0;
    item_id item = 0;
    warehouse_id supply_warehouse = 0;
    std::int32_t quantity = 0;
    std::array<char, 24> district_info{};
};

struct customer_row {
    cents balance = 0;
    cents ytd_payment = 0;
    std::int32_t payment_count = 0;
    std::int32_t delivery_count = 0;
    order_id last_order = 0;  ///< 0: no order
    rate discount = 0;
    cents credit_limit = 0;
    timestamp since = 0;
    text<2> credit;
    text<16> first;
    text<2> middle;
    text<16> last;
    text<16> phone;
    address where;
    text<500> data;
};

/// The loaded database, and how many parts are loaded. Programs that load one database together coordinate by it.
struct load_record {
    std::int32_t warehouses = 0, seed = 0, shrink = 0;
    std::uint32_t parts = 0, loaded = 0;
};

/// Customers with one last name, by ascending first name.
using namesakes = std::vector<customer_id>;

/// The home nodes of the rows.
enum class spread {
    anywhere,      ///< the hash of a row's key determines its home
    by_warehouse,  ///< rows of warehouse w are on node (w - 1) mod nodes; each node has ITEM (clause 1.4.7)
};

/// Returns references to rows by their keys, whether they exist or not. Copying is cheap.
class tables {
public:
    explicit tables(const tutti::cluster::node& of, spread how = spread::anywhere) noexcept
        : node_{&of}, spread_{how} {}
    [[nodiscard]] const tutti::cluster::node& node() const noexcept { return *node_; }
    /// Returns true if this node has to load ITEM.
    [[nodiscard]] bool loads_items() const noexcept { return spread_ == spread::by_warehouse || node_->number() == 0; }

    template <class T>
    using ref = tutti::cluster::ref<T>;

    [[nodiscard]] ref<item> item_at(item_id i) const {
        const bool is_copy = spread_ == spread::by_warehouse;
        return at<item>(1, is_copy ? static_cast<warehouse_id>(node_->number()) + 1 : 0, 0, number(i));
    }
    [[nodiscard]] ref<warehouse_row> warehouse_at(warehouse_id w) const { return at<warehouse_row>(2, w, 0, 0); }
    [[nodiscard]] ref<year_to_date> ytd_of(warehouse_id w) const { return at<year_to_date>(3, w, 0, 0); }
    [[nodiscard]] ref<district_row> district_at(warehouse_id w, district_id d) const {
        return at<district_row>(4, w, d, 0);
    }
    [[nodiscard]] ref<order_numbers> numbers_of(warehouse_id w, district_id d) const {
        return at<order_numbers>(5, w, d, 0);
    }
    [[nodiscard]] ref<pending_orders> pending_of(warehouse_id w, district_id d) const {
        return at<pending_orders>(6, w, d, 0);
    }
    [[nodiscard]] ref<payments> payments_of(warehouse_id w, district_id d) const { return at<payments>(7, w, d, 0); }
    [[nodiscard]] ref<stock_row> stock_at(warehouse_id w, item_id i) const { return at<stock_row>(8, w, 0, number(i)); }
    [[nodiscard]] ref<customer_row> customer_at(warehouse_id w, district_id d, customer_id c) const {
        return at<customer_row>(9, w, d, number(c));
    }
    [[nodiscard]] ref<namesakes> namesakes_at(warehouse_id w, district_id d, const text<16>& last) const {
        return at<namesakes>(10, w, d, tutti::cluster::object_id{last.view()}.low >> 16);
    }
    [[nodiscard]] ref<order_row> order_at(warehouse_id w, district_id d, order_id o) const {
        return at<order_row>(11, w, d, number(o));
    }
    /// `l` counts from 1.
    [[nodiscard]] ref<line_row> line_at(warehouse_id w, district_id d, order_id o, int l) const {
        return at<line_row>(12, w, d, number(o) * (max_lines + 1) + number(l));
    }
    [[nodiscard]] ref<new_order_row> new_order_at(warehouse_id w, district_id d, order_id o) const {
        return at<new_order_row>(13, w, d, number(o));
    }
    /// `n` counts from 1.
    [[nodiscard]] ref<history> history_at(warehouse_id w, district_id d, std::int32_t n) const {
        return at<history>(14, w, d, number(n));
    }
    [[nodiscard]] ref<load_record> record() const { return at<load_record>(15, 1, 0, 0); }

private:
    static std::uint64_t number(std::int32_t of) { return static_cast<std::uint32_t>(of); }
    template <class T>
    [[nodiscard]] ref<T> at(std::uint64_t table, warehouse_id w, district_id d, std::uint64_t row) const {
        const tutti::cluster::object_id key{table << 56 | number(w) << 16 | number(d), row};
        if (spread_ == spread::anywhere) return {*node_, key};
        return {*node_, node_->id_at(static_cast<unsigned>(w - 1) % node_->nodes(), key)};
    }

    const tutti::cluster::node* node_;
    spread spread_;
};

/// Names of rows of any tables, to be opened in one round trip.
class wanted {
public:
    template <class T>
    wanted& operator<<(const tutti::cluster::ref<T>& one) {
        ids_.push_back(one.id());
        return *this;
    }
    void open(tutti::tx& t, const tables& in) {
        tutti::cluster::prefetch(t, in.node(), ids_);
        ids_.clear();
    }

private:
    std::vector<tutti::cluster::object_id> ids_;
};

}  // namespace tpcc::remote
