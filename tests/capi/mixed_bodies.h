// C code that the mixed tests call from C++ and hand to C++.
#pragma once

#include "tutti/tutti.h"

TUTTI_C_BEGIN

/// Adds to a variable through C calls.
void c_add(tutti_tx* tx, tutti_var* to, uint64_t amount);
/// Adds, then restarts the innermost block while `*restarts` is not zero, counting it down.
void c_add_and_restart(tutti_tx* tx, tutti_var* to, unsigned* restarts);
/// Adds in a nested C block, then cancels that block. Returns its result.
int c_add_and_cancel(tutti_var* to);
/// In a nested C block: retries while the variable is zero. `*found_shut` becomes true, atomically, before it does.
int c_wait_nested(tutti_var* until, bool* found_shut);
/// Loads a misaligned word.
void c_misuse(tutti_tx* tx);
/// The same in a nested C block; returns its result.
int c_misuse_nested(void);

/// Runs a C block around `body` and returns its result. There is a C frame in between.
int c_run(tutti_body* body, void* argument);

TUTTI_C_END
