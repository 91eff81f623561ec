// The border between C frames and the runtime: nothing that the runtime throws for a C caller crosses it.
//
// A signal (restart, retry, cancel) needs nothing from here: the runtime jumps to the innermost block if that is a C
// block, and throws `unwind` if it is a C++ one.
//
// An error (usage_error, std::bad_alloc) is thrown in any case. Met by a call inside a C block, it is caught here, its
// text is remembered, its code is left in the block's frame, and the block is jumped to; it rolls back and returns the
// code. Inside a C++ block the exception goes on to that block, through C frames that have nothing to destroy. Without
// a block no caller can be told, and the program ends with the text.
//
// Calls of this file are made from functions whose frames hold nothing with a destructor at that time: the jumps skip
// them.
#pragma once

#include <new>

#include "base/panic.hpp"
#include "tutti/c/interop.hpp"
#include "tutti/detail/runtime.hpp"

namespace tutti::api {

/// Keeps the text for `tutti_last_error` and returns the code.
int remember(int code, const char* text) noexcept;

/// Turns the library's exception that is being handled into a result; lets every other one go on.
/// REQUIRES: called in a catch block.
int result_of_exception();

/// Leaves to the innermost block, a C block, which rolls back and returns `code`. No exception is being handled.
[[noreturn]] void fail_block(tx& t, int code);

/// In a handler of usage_error or bad_alloc: returns its code if the innermost block takes one, otherwise passes the
/// exception on, or gives up when no transaction runs. `t` may be null: none was ever run.
int code_for_block(tx* t);

/// Runs a call of the runtime on behalf of C code. `operation` captures by reference only.
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
    // Past the handlers, so that the exception is gone before the jump.
    fail_block(*t, code);
}

/// The same for a call that takes the transaction. `operation(tx&)`.
template <class F>
TUTTI_ALWAYS_INLINE auto guarded(tutti_tx* handle, F operation) {
    tx& t = from_c(handle);
    return guarded(&t, [&]() -> decltype(operation(t)) { return operation(t); });
}

/// An error that the C interface itself finds.
[[noreturn]] TUTTI_COLD void fail_use(tutti_tx* handle, const char* text);

/// For calls outside transactions that report with a code: 0, or the exception's.
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
