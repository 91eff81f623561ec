// `tutti promote` and `tutti handover`.
#pragma once

#include "command_line.hpp"

namespace tutti::tools {

/// Makes a follower lead, and waits until it leads. @throws std::runtime_error
void promote(const promote_options& options);

/// Makes a leader hand over leadership to a follower, and waits until the follower leads. @throws std::runtime_error
void hand_over(const handover_options& options);

}  // namespace tutti::tools
