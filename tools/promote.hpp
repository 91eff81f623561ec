// `tutti promote`.
#pragma once

#include "command_line.hpp"

namespace tutti::tools {

/// Has a server that follows another lead, and waits until it does. @throws std::runtime_error
void promote(const promote_options& options);

}  // namespace tutti::tools
