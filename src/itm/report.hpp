// The part of the report on blocks of the language (api/report/report.hpp).
#pragma once

namespace tutti::itm {

/// In the child after fork: resets all counts.
void reset_report() noexcept;

}  // namespace tutti::itm
