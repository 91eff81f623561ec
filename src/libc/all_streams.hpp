// What concerns every stream of the process: a flush of all of them, the end of the process, and a fork.
#pragma once

#include "libc/context.hpp"

namespace tutti::libc {

/// Flushes every stream, as fflush(nullptr) does. Waits for those that others own. `t` is the irrevocable transaction
/// of the library that asks for it, or null. EOF, and errno says why: a stream could not be flushed, or memory ran out.
int flush_all(tx* t);

/// Waits for ever once the process ends, but in the thread that ends it: no transaction begins to own a stream then.
void refuse_at_exit() noexcept;

}  // namespace tutti::libc
