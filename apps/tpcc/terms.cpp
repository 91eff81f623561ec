#include "tpcc/terms.hpp"

#include <iterator>

#include <fmt/format.h>

namespace tpcc {

text<500> bad_credit_data(customer_id payer, district_id of, warehouse_id in_warehouse, const payment_input& in,
                          std::string_view before) {
    text<500> data;
    char entry[96];
    const auto end = fmt::format_to_n(entry, std::size(entry), "{} {} {} {} {} {}.{:02} ", payer, of, in_warehouse,
                                      in.district, in.warehouse, in.amount / 100, in.amount % 100);
    data.append({entry, end.out});
    data.append(before);
    return data;
}

text<24> history_data(const text<10>& warehouse, const text<10>& district) {
    text<24> data{warehouse.view()};
    data.append("    ");
    data.append(district.view());
    return data;
}

}  // namespace tpcc
