// The boundary between C frames and the runtime. Exceptions of the runtime do not cross this boundary into a C caller.
//
// A signal (restart, retry, cancel) does not need this file. The runtime jumps to the innermost block if that is a C
// block, and throws `unwind` if it is a C++ block.
//
// An error (usage_error, std::bad_alloc) is always thrown. If a call inside a C block throws it, this file catches the
// error, stores its text, and stores its code in the block's frame. Then this file jumps to the block, which rolls back
// and returns the code. Inside a C++ block the exception continues to that block, through C frames that have nothing to
// destroy. Outside of all blocks, no caller can receive the error, so the program ends with the text.
//
// The callers of this file hold no objects with destructors at the time of the call, because the jumps skip their
// frames.
#pragma once

#include <new>

#include "base/panic.hpp"
#include "tutti/c/interop.hpp"
#include "tutti/detail/runtime.hpp"

namespace tutti::api {

/// Stores the text for `tutti_last_error` and returns the code.
int set_last_error(int code, const char* text) noexcept;

/// Converts the library's exception that is being handled into a result. Rethrows any other exception. REQUIRES: called
/// in a catch block.
int result_of_exception();

/// Jumps to the innermost block, which is a C block. The block rolls back and returns `code`. REQUIRES: no exception is
/// being handled.
[[noreturn]] void fail_block(tx& t, int code);

/// Returns the code of the usage_error or bad_alloc that is being handled, if the innermost block accepts a code.
/// Otherwise rethrows the exception, or ends the program if no transaction runs. `t` may be null if this context has
/// never run a transaction.
int code_for_block(tx* t);

/// Runs `operation`, a call of the runtime, for C code. `operation` must capture only by reference.
template <class F>
TUTTI_ALWAYS_INLINE auto guarded(tx* t, F operation) -> decltype(operation()) {
    int code = 0;
    try {
        return operation();
    } catch (const usage_error&) {
        code = code_for_block(t);
    } catch (const std::bad_alloc&) {
        code = code_for_block(t);
    }
    // This call is after the handlers, so that the exception is destroyed before the jump.
    fail_block(*t, code);
}

/// Runs `operation(tx&)` in the same way, for a call with a transaction argument.
template <class F>
TUTTI_ALWAYS_INLINE auto guarded(tutti_tx* handle, F operation) {
    tx& t = from_c(handle);
    return guarded(&t, [&]() -> decltype(operation(t)) { return operation(t); });
}

/// Reports an error that the C interface itself finds.
[[noreturn]] TUTTI_COLD void fail_use(tutti_tx* handle, const char* text);

/// Runs a call outside of transactions that reports its result as a code. Returns 0, or the exception's code.
template <class F>
int reported(F operation) {
    try {
        operation();
        return 0;
    } catch (...) {
        return result_of_exception();
    }
}

}  // namespace tutti::api
