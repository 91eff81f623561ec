// PostgreSQL over libpq: one table, two sequences, and commits that lock what they compare.
#pragma once

#include "cluster/backend/address.hpp"

namespace tutti::cluster::backend {

/// `url` as libpq takes it. Throws refusal.
[[nodiscard]] std::unique_ptr<engine> open_postgres(const std::string& url, const settings& how);

}  // namespace tutti::cluster::backend
