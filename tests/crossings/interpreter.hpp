// Runs a program with the library.
#pragma once

#include <string>
#include <vector>

#include "trace.hpp"
#include "world.hpp"

namespace crossings {

/// Runs each thread of the program on a thread of its own, or a single one on the calling thread. Returns a trace for
/// each thread. The last trace is that of a block that reads every place at the end.
[[nodiscard]] std::vector<trace> interpret(const program& p, world& w, std::atomic<std::uint32_t>& clock);

/// Collects retired objects immediately, as far as they can be collected.
void collect_what_is_retired();

}  // namespace crossings
