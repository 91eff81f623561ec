// The environment's lock, for functions that read the environment.
#pragma once

#include "libc/context.hpp"

namespace tutti::libc {

/// Prevents other transactions from changing the environment until this one ends. If there is no memory for a lock, the
/// transaction becomes irrevocable. Does not change errno.
void lock_environment_shared(tx& t);

}  // namespace tutti::libc
