// PostgreSQL over libpq: one table, two sequences, and commits that lock the rows that they compare.
#pragma once

#include "cluster/backend/address.hpp"

namespace tutti::cluster::backend {

/// Opens PostgreSQL. `url` has libpq's format. Throws engine_error.
[[nodiscard]] std::unique_ptr<engine> open_postgres(const std::string& url, const settings& how);

}  // namespace tutti::cluster::backend
