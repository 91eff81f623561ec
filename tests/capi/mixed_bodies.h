// C code that the mixed tests call from C++ and pass to C++.
#pragma once

#include "tutti/tutti.h"

TUTTI_C_BEGIN

/// Adds to a variable through C calls.
void c_add(tutti_tx* tx, tutti_var* to, uint64_t amount);
/// Adds, then restarts the innermost block while `*restarts` is not zero, counting it down.
void c_add_and_restart(tutti_tx* tx, tutti_var* to, unsigned* restarts);
/// Adds in a nested C block, then cancels that block. Returns its result.
int c_add_and_cancel(tutti_var* to);
/// Retries in a nested C block while the variable is zero. Sets `*found_shut` atomically before that.
int c_wait_nested(tutti_var* until, bool* found_shut);
/// Loads a misaligned word.
void c_misuse(tutti_tx* tx);
/// Loads a misaligned word in a nested C block. Returns the block's result.
int c_misuse_nested(void);

/// Runs a C block around `body` and returns its result. A C frame is in between.
int c_run(tutti_body* body, void* argument);

TUTTI_C_END
