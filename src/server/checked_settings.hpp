// What of a server's settings makes sense together.
#pragma once

#include "tutti/server/service.hpp"

namespace tutti::server {

/// With what follows from them. @throws std::invalid_argument  the message says which makes no sense, and what would
[[nodiscard]] settings checked(settings how);

}  // namespace tutti::server
