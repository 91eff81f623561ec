#include <algorithm>

#include "tpcc/profiles.hpp"

namespace tpcc {
namespace {

/// Items that are low in stock, with repetitions.
struct low_items {
    std::array<item_id, static_cast<std::size_t>(stock_level_orders) * max_lines> ids;
    std::size_t count = 0;

    int distinct() {
        const auto end = ids.begin() + static_cast<std::ptrdiff_t>(count);
        std::sort(ids.begin(), end);
        return static_cast<int>(std::unique(ids.begin(), end) - ids.begin());
    }
};

}  // namespace

execution<stock_level_result> stock_level(database& db, const stock_level_input& in) {
    const district& where = db.district_at(in.warehouse, in.district);
    low_items low;
    unsigned attempts = 0;
    // No frame of the body has an object with a destructor. Every attempt clears `low`.
    constexpr tutti::options how{.name = "stock-level", .read_only = true};
    tutti::atomically(tutti::no_unwind, how, [&](tutti::tx& t) {
        attempts = t.attempt();
        low.count = 0;
        const order_id next = where.next_order.get(t);
        for (order_id o = std::max(1, next - stock_level_orders); o < next; ++o) {
            // Does not use the vector's length, because every new order changes it. A transaction that reads the length
            // again after such a change would have to restart, although its snapshot is still good.
            const order& row = where.order_at(t, o);
            for (std::size_t l = 0; l < static_cast<std::size_t>(row.line_count); ++l) {
                const item_id id = row.lines[l].item;
                // Only few items are low, so repetitions are removed afterwards.
                if (db.stock_at(in.warehouse, id).quantity.get(t) < in.threshold) low.ids[low.count++] = id;
            }
            db.computing.compute(demand::stock_level / stock_level_orders);
        }
    });
    return {{low.distinct()}, attempts};
}

}  // namespace tpcc
