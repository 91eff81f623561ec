// What it costs that each context has thread-local storage of its own.
#pragma once

namespace tutti_bench {

/// Measures a call that does nothing and an interruption, with storage of their own and with that of the worker, in
/// turns, and prints both in nanoseconds.
void measure_thread_locals();

}  // namespace tutti_bench
