// What blocks of the language add to the report (api/report.hpp).
#pragma once

namespace tutti::itm {

/// In the child, after fork: what was counted before is forgotten.
void report_anew() noexcept;

}  // namespace tutti::itm
