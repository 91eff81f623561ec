// Operations on all streams of the process: a flush of all streams, the end of the process, and a fork.
#pragma once

#include "libc/context.hpp"

namespace tutti::libc {

enum class flush_selection : unsigned char {
    all,            ///< as fflush(nullptr)
    line_buffered,  ///< streams that are buffered by lines, as _flushlbf
    final_flush,    ///< all streams, which have no buffer afterwards, as fcloseall
};

/// Flushes every stream that `what` selects, and waits for streams that other transactions own. `t` is the irrevocable
/// transaction of the library that flushes, or null. Returns EOF and sets errno if a stream could not be flushed or
/// memory ran out.
int flush_all(tx* t, flush_selection what = flush_selection::all);

/// Blocks forever once the process ends, except in the thread that ends it, so that no transaction starts to own a
/// stream.
void stop_at_exit() noexcept;

}  // namespace tutti::libc
