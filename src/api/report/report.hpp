// The report: a JSON text about the process's atomic blocks. `tutti report` and `tutti stat` show it, and
// docs/observing.md describes its fields. The process writes it at exit, if TUTTI_REPORT asks for it:
//
//   unset, empty, 0, off   no report
//   1, on                  tutti-report.<pid>.json, and its text on stderr if `tutti` is found
//   anything else          the file's name, relative to the working folder at the start; %p stands for the
//                          process's number
//
// A forked child that exits normally also writes a report, in a file with its own number appended.
#pragma once

#include <string>

#include "observe/json.hpp"
#include "tutti/detail/config.hpp"

namespace tutti::api {

/// Returns true if TUTTI_REPORT asks for a report. The result is constant during the life of the process.
[[nodiscard]] TUTTI_EXPORT bool report_wanted() noexcept;

/// Registers a function of another library that adds its own fields. `write` runs while the report's object is open.
TUTTI_EXPORT void add_to_report(void (*write)(observe::json_writer& to)) noexcept;

/// Resets all counts in the child after a fork. REQUIRES: no other thread runs.
TUTTI_EXPORT void reset_report() noexcept;

/// Returns the present report. If `live`, includes the status of each context. Throws std::bad_alloc.
[[nodiscard]] std::string report_text(bool live);

/// Starts counting if a report is wanted.
void begin_report();

/// Writes the report to the file that TUTTI_REPORT selects. Does nothing if no report is wanted.
void write_report();

}  // namespace tutti::api
