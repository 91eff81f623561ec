// The cost of separate thread-local storage for each context.
#pragma once

namespace tutti_bench {

/// Measures an empty call and an interruption, in turns with separate storage and with the worker's storage. Prints
/// both in nanoseconds.
void measure_thread_locals();

}  // namespace tutti_bench
