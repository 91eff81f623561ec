// The environment as other functions read it.
#pragma once

#include "libc/context.hpp"

namespace tutti::libc {

/// Keeps other transactions from changing the environment until this one ends. Without memory for a lock the
/// transaction becomes irrevocable. Does not change errno.
void share_environment(tx& t);

}  // namespace tutti::libc
