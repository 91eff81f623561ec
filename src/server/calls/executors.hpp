// Which executor a server's settings ask for, and how many workers.
#pragma once

#include <memory>

#include "server/calls/catalog.hpp"
#include "server/calls/executor.hpp"
#include "server/calls/idle_work.hpp"
#include "server/calls/timeline.hpp"
#include "tutti/server/service.hpp"

namespace tutti::server {

/// What `automatic` comes to in this build and process; anything else stays what it is.
[[nodiscard]] execution executor_of(const settings& how) noexcept;

/// What the settings say, or the processors that I/O threads leave, as far as the executor can have so many.
[[nodiscard]] unsigned workers_for(const settings& how, execution chosen, unsigned processors) noexcept;

/// For these procedures; its workers do `idle` while they have nothing to run; null: they sleep. REQUIRES: `chosen` is
/// not automatic.
/// @throws std::invalid_argument, std::logic_error  where what is asked for cannot be had
[[nodiscard]] std::unique_ptr<executor> make_executor(execution chosen, const settings& how, unsigned workers,
                                                      const catalog& procedures, timeline& shown, idle_work* idle);

}  // namespace tutti::server
