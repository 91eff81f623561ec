// The initial population (clause 4.3.3.1).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "tpcc/database.hpp"

namespace tpcc {

/// Called with the numbers of loaded parts and of all parts, by one thread at a time.
using load_progress = std::function<void(std::size_t done, std::size_t all)>;

/// Makes and fills a database. Equal seeds give equal rows, with any number of threads.
///
/// @param size        REQUIRES: every cardinality at least 1, orders_per_district at least 4
/// @param warehouses  at least 1
/// @param threads     at least 1
[[nodiscard]] std::unique_ptr<database> populate(const scale& size, int warehouses, std::uint64_t seed,
                                                 unsigned threads, const load_progress& progress = {});

}  // namespace tpcc
