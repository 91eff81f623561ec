// The part of the report about blocks of the language (api/report/report.hpp).
#pragma once

namespace tutti::itm {

/// Resets all counts in the child after a fork.
void reset_report() noexcept;

}  // namespace tutti::itm
