// Which executor a server's settings ask for.
#pragma once

#include <memory>
#include <span>

#include "server/executor.hpp"
#include "server/timeline.hpp"
#include "tutti/server/service.hpp"

namespace tutti::server {

/// `objects`: an address in each shared object that procedures were loaded from.
/// @throws std::invalid_argument, std::logic_error  where what is asked for cannot be had
[[nodiscard]] std::unique_ptr<executor> make_executor(const settings& how, unsigned workers,
                                                      std::span<const void* const> objects, timeline& shown);

}  // namespace tutti::server
