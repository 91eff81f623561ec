// What the process's atomic blocks did, as one text of JSON that `tutti report` and `tutti stat` show;
// docs/observing.md describes its fields. It is written when the process exits, if TUTTI_REPORT asks for it:
//
//   unset, empty, 0, off   none
//   1, on                  tutti-report.<pid>.json, and its text on stderr if `tutti` is found
//   anything else          the name of the file, taken from the working folder of the start; %p stands for the
//                          process's number
//
// A forked child that ends by itself writes one, too, in a file with its number appended.
#pragma once

#include <string>

#include "observe/json.hpp"
#include "tutti/detail/config.hpp"

namespace tutti::api {

/// Whether TUTTI_REPORT asks for one. The same for the whole life of the process.
[[nodiscard]] TUTTI_EXPORT bool report_wanted() noexcept;

/// A library that knows of further blocks adds fields of its own: `write` is called while the report's object is open.
TUTTI_EXPORT void add_to_report(void (*write)(observe::json_writer& to)) noexcept;

/// In the child, after fork: what was counted before is forgotten. REQUIRES: no other thread runs.
TUTTI_EXPORT void report_anew() noexcept;

/// The report as it is now. `live`: with what each context is doing. Throws std::bad_alloc.
[[nodiscard]] std::string report_text(bool live);

/// Starts to count if a report is wanted.
void begin_report();

/// Writes the report to where TUTTI_REPORT wants it, if at all.
void write_report();

}  // namespace tutti::api
