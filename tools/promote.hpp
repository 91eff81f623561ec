// `tutti promote` and `tutti handover`.
#pragma once

#include "command_line.hpp"

namespace tutti::tools {

/// Makes a follower lead, and waits until it does. @throws std::runtime_error
void promote(const promote_options& options);

/// Makes a leader hand its lead over to a follower, and waits until that one leads. @throws std::runtime_error
void hand_over(const handover_options& options);

}  // namespace tutti::tools
