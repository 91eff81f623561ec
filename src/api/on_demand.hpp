// The figures of a process while it runs: TUTTI_STATISTICS=signal.
#pragma once

namespace tutti::api {

/// Prints the statistics when SIGINT or SIGTERM ends the process, unless it handles them itself, and whenever it gets a
/// SIGQUIT; to `tutti stat`, which sends that one, goes the report. Starts a thread, which does the printing: a handler
/// may interrupt a thread that holds the locks that this takes. Once in a process; ends it with a message if there is
/// no thread to be had.
void print_on_signals();

}  // namespace tutti::api
