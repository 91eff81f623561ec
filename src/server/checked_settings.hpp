// Checks which settings of a server are valid together.
#pragma once

#include "tutti/server/settings.hpp"

namespace tutti::server {

/// Returns the settings, with those that follow from others. @throws std::invalid_argument  with a message that says
/// which setting is invalid, and what would be valid
[[nodiscard]] settings checked(settings how);

}  // namespace tutti::server
