// The database: warehouses, their districts, and the rows that belong to them.
//
// Rows that transactions insert or remove are in transactional tables. Rows whose number is fixed by the load (items,
// stock, customers) are in arrays indexed by identifier.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

#include <tutti/containers/queue.hpp>
#include <tutti/containers/vector.hpp>

#include "tpcc/customer_names.hpp"
#include "tpcc/demand.hpp"
#include "tpcc/random.hpp"
#include "tpcc/rows.hpp"

namespace tpcc {

/// Returns all rows of a table at one instant.
template <class Table>
std::vector<typename Table::value_type> rows_of(const Table& table) {
    return tutti::atomically({.name = "rows", .read_only = true}, [&](tutti::tx& t) {
        std::vector<typename Table::value_type> rows;
        table.for_each(t, [&](const auto& row) { rows.push_back(row); });
        return rows;
    });
}

struct district {
    district() = default;
    district(const district&) = delete;
    district& operator=(const district&) = delete;
    ~district() {
        for (const order* row : rows_of(orders)) delete row;
    }

    /// REQUIRES: the order exists.
    [[nodiscard]] order& order_at(tutti::tx& t, order_id number) const {
        return *orders.get(t, static_cast<std::size_t>(number) - 1);
    }

    district_id id = 0;
    warehouse_id warehouse = 0;
    rate tax = 0;
    text<10> name;
    address where;
    std::vector<customer> customers;
    customer_names names;
    tutti::vector<order*> orders;            ///< by number, from 1; the district owns the rows
    tutti::queue<new_order_row> new_orders;  ///< oldest first: orders enter by ascending number
    tutti::vector<history> payments;         ///< the HISTORY rows with this H_W_ID and H_D_ID
    alignas(cache_line) tutti::var<cents> ytd;
    alignas(cache_line) tutti::var<order_id> next_order;
};

struct warehouse {
    warehouse_id id = 0;
    rate tax = 0;
    text<10> name;
    address where;
    std::array<district, districts_per_warehouse> districts;
    std::vector<stock> stocks;
    alignas(cache_line) tutti::var<cents> ytd;
};

/// The database. Finding a row by its identifiers is O(1). REQUIRES, unless stated: the identifiers exist.
class database {
public:
    /// Creates all rows that the load does not insert, with empty columns; see `populate`.
    database(const scale& size, int warehouses, const nurand_constants& constants);

    [[nodiscard]] const scale& size() const noexcept { return size_; }
    [[nodiscard]] const nurand_constants& constants() const noexcept { return constants_; }
    /// The computing in its transactions, in addition to their accesses. Set it while no transaction runs.
    demand computing;

    [[nodiscard]] int warehouse_count() const noexcept { return static_cast<int>(warehouses_.size()); }

    [[nodiscard]] warehouse& warehouse_at(warehouse_id w) const { return *warehouses_[index(w)]; }
    [[nodiscard]] district& district_at(warehouse_id w, district_id d) const {
        return warehouse_at(w).districts[index(d)];
    }
    [[nodiscard]] customer& customer_at(warehouse_id w, district_id d, customer_id c) const {
        return district_at(w, d).customers[index(c)];
    }
    [[nodiscard]] stock& stock_at(warehouse_id w, item_id i) const { return warehouse_at(w).stocks[index(i)]; }
    [[nodiscard]] item& item_at(item_id i) { return items_[index(i)]; }

    /// Returns null if there is no such item.
    [[nodiscard]] const item* find_item(item_id i) const {
        return i >= 1 && i <= size_.items ? &items_[index(i)] : nullptr;
    }

    /// Returns the memory that a database of this size takes after its load, in bytes; a lower estimate.
    [[nodiscard]] static std::size_t bytes_after_load(const scale& size, int warehouses);

private:
    static std::size_t index(std::int32_t id) { return static_cast<std::size_t>(id) - 1; }

    scale size_;
    nurand_constants constants_;
    std::vector<item> items_;
    std::vector<std::unique_ptr<warehouse>> warehouses_;
};

}  // namespace tpcc
