#include "tpcc/database.hpp"

namespace tpcc {

database::database(const scale& size, int warehouses, const nurand_constants& constants)
    : size_{size}, constants_{constants}, items_(static_cast<std::size_t>(size.items)) {
    for (int w = 1; w <= warehouses; ++w) {
        warehouse& row = *warehouses_.emplace_back(std::make_unique<warehouse>());
        row.id = w;
        row.stocks = std::vector<stock>(static_cast<std::size_t>(size.items));
        district_id d = 0;
        for (district& each : row.districts) {
            each.id = ++d;
            each.warehouse = w;
            each.customers = std::vector<customer>(static_cast<std::size_t>(size.customers_per_district));
        }
    }
}

std::size_t database::bytes_after_load(const scale& size, int warehouses) {
    const auto items = static_cast<std::size_t>(size.items);
    const auto customers = static_cast<std::size_t>(size.customers_per_district);
    const auto orders = static_cast<std::size_t>(size.orders_per_district);
    const std::size_t in_district = sizeof(district) + customers * (sizeof(customer) + sizeof(text<500>)) +
                                    customers * (sizeof(history) + sizeof(tutti::var<history*>)) +
                                    orders * (sizeof(order) + sizeof(tutti::var<order*>));
    const std::size_t in_warehouse = sizeof(warehouse) + items * sizeof(stock) + districts_per_warehouse * in_district;
    return items * sizeof(item) + static_cast<std::size_t>(warehouses) * in_warehouse;
}

}  // namespace tpcc
