// The CLIENT command and its subcommands.
#pragma once

#include <span>
#include <string_view>

#include "server/protocol/client_directory.hpp"
#include "server/protocol/session.hpp"

namespace tutti::server {

/// Answers CLIENT. `given` begins with CLIENT and has at least two words. @throws bad_argument  if a number is
/// malformed
void client_command(client_directory& all, session& who, std::span<const std::string_view> given, reply& to);

}  // namespace tutti::server
