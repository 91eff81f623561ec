// String functions that are not in tutti/libc/functions.hpp, either because their behaviour in a block of the library
// would be wrong, or because their names belong to glibc.
#pragma once

#include <cstddef>

#include "libc/context.hpp"

extern "C" int __xpg_strerror_r(int error, char* to, std::size_t size) noexcept;

namespace tutti::libc {

/// Makes the transaction irrevocable. REQUIRES: the innermost block is a block of the language.
char* strtok(tx& t, char* s, const char* delimiters);
/// The strerror_r of POSIX.
int __xpg_strerror_r(tx& t, int error, char* to, std::size_t size);

/// Returns true if the thread's locale compares strings as strcmp does.
bool collates_by_value() noexcept;

}  // namespace tutti::libc
