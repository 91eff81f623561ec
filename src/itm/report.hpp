// The report at exit: TUTTI_REPORT.
//
//   unset, empty, 0, off   none
//   1, on                  tutti-report.<pid>.json, and its text on stderr if `tutti` is found
//   anything else          the name of the file, taken from the working folder of the start; %p stands for the
//                          process's number
//
// A forked child that ends by itself reports what it did since the fork, in a file with its number appended.
#pragma once

namespace tutti::itm {

/// Whether contexts keep a journal. The same for the whole life of the process.
[[nodiscard]] bool report_wanted() noexcept;

/// In the child, after fork.
void report_anew() noexcept;

}  // namespace tutti::itm
