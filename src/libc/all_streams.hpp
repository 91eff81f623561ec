// What concerns every stream of the process: a flush of all of them, the end of the process, and a fork.
#pragma once

#include "libc/context.hpp"

namespace tutti::libc {

enum class flushing : unsigned char {
    of_all,             ///< as fflush(nullptr)
    of_lines,           ///< of streams that are buffered by lines, as _flushlbf
    for_the_last_time,  ///< of all, which have no buffer afterwards, as fcloseall
};

/// Flushes every stream that `what` asks for. Waits for those that others own. `t` is the irrevocable transaction
/// of the library that asks for it, or null. EOF, and errno says why: a stream could not be flushed, or memory ran out.
int flush_all(tx* t, flushing what = flushing::of_all);

/// Waits for ever once the process ends, but in the thread that ends it: no transaction begins to own a stream then.
void refuse_at_exit() noexcept;

}  // namespace tutti::libc
