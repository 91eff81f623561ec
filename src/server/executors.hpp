// Which executor a server's settings ask for.
#pragma once

#include <memory>

#include "server/catalog.hpp"
#include "server/executor.hpp"
#include "server/timeline.hpp"
#include "tutti/server/service.hpp"

namespace tutti::server {

/// For these procedures.
/// @throws std::invalid_argument, std::logic_error  where what is asked for cannot be had
[[nodiscard]] std::unique_ptr<executor> make_executor(const settings& how, unsigned workers, const catalog& procedures,
                                                      timeline& shown);

}  // namespace tutti::server
