// CLIENT and what may follow it.
#pragma once

#include <span>
#include <string_view>

#include "server/protocol/client_directory.hpp"
#include "server/protocol/session.hpp"

namespace tutti::server {

/// Answers CLIENT; `given` begins with it and has at least two words.
/// @throws bad_argument  for a number that is none
void client_command(client_directory& all, session& who, std::span<const std::string_view> given, reply& to);

}  // namespace tutti::server
