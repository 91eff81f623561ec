// Prints the statistics of a running process: TUTTI_STATISTICS=signal.
#pragma once

namespace tutti::api {

/// Prints the statistics when SIGINT or SIGTERM ends the process, unless the program handles these signals itself, and
/// at each SIGQUIT. A SIGQUIT from `tutti stat` is answered with the report instead. Starts a thread that prints,
/// because a signal handler may interrupt a thread that holds the locks needed for printing. Call this function once in
/// a process. Ends the process with a message if the thread cannot be started.
void print_on_signals();

}  // namespace tutti::api
