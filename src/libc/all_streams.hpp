// Operations on all streams of the process: flush all streams, end the process, and fork.
#pragma once

#include "libc/context.hpp"

namespace tutti::libc {

enum class flush_selection : unsigned char {
    all,            ///< as fflush(nullptr)
    line_buffered,  ///< line-buffered streams, as _flushlbf does
    final_flush,    ///< all streams, which then have no buffer, as fcloseall does
};

/// Flushes every stream that `what` selects, and waits for streams that other transactions own. `t` is the irrevocable
/// transaction of the library that flushes, or null. Returns EOF and sets errno if a stream could not be flushed or
/// memory ran out.
int flush_all(tx* t, flush_selection what = flush_selection::all);

/// Blocks the calling thread forever if the process is ending, unless the calling thread itself ends the process. So no
/// further transaction becomes the owner of a stream.
void stop_at_exit() noexcept;

}  // namespace tutti::libc
