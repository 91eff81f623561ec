// Runs a program over the library.
#pragma once

#include <string>
#include <vector>

#include "trace.hpp"
#include "world.hpp"

namespace crossings {

/// Runs it, each thread of it on a thread of its own, and one that is alone on the calling thread. Returns a trace for
/// each thread, the last one that of a block which reads every place when all have ended.
[[nodiscard]] std::vector<trace> interpret(const program& p, world& w, std::atomic<std::uint32_t>& clock);

/// Waits no longer for what is retired: collects it, as far as it can be collected.
void collect_what_is_retired();

}  // namespace crossings
