// Chooses the executor that a server's settings request, and the number of workers.
#pragma once

#include <memory>

#include "server/calls/catalog.hpp"
#include "server/calls/executor.hpp"
#include "server/calls/idle_work.hpp"
#include "server/calls/timeline.hpp"
#include "tutti/server/settings.hpp"

namespace tutti::server {

/// Resolves `automatic` for this build and process. Returns any other value unchanged.
[[nodiscard]] execution executor_of(const settings& how) noexcept;

/// Returns the number of workers: the one in the settings, or the number of processors that I/O threads leave. The
/// number is within the limits of the executor.
[[nodiscard]] unsigned workers_for(const settings& how, execution chosen, unsigned processors) noexcept;

/// Makes an executor for `procedures`. Its workers run `idle` while they have no job. If `idle` is null, they sleep.
/// REQUIRES: `chosen` is not automatic. @throws std::invalid_argument, std::logic_error  if the requested executor is
/// not available
[[nodiscard]] std::unique_ptr<executor> make_executor(execution chosen, const settings& how, unsigned workers,
                                                      const catalog& procedures, timeline& recorder, idle_work* idle);

}  // namespace tutti::server
