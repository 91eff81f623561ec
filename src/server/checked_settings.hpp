// Checks whether a server's settings are valid, alone and in combination.
#pragma once

#include "tutti/server/settings.hpp"

namespace tutti::server {

/// Returns the settings, completed by those that follow from other settings. @throws std::invalid_argument  with a
/// message that says which setting is invalid, and what would be valid
[[nodiscard]] settings checked(settings how);

}  // namespace tutti::server
