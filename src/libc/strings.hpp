// Of the functions of strings those that are no part of tutti/libc/functions.hpp: how they act in a block of the
// library would be wrong, or their name is glibc's own.
#pragma once

#include <cstddef>

#include "libc/context.hpp"

extern "C" int __xpg_strerror_r(int error, char* to, std::size_t size) noexcept;

namespace tutti::libc {

/// Makes the transaction irrevocable.
/// REQUIRES: the block is one of the language.
char* strtok(tx& t, char* s, const char* delimiters);
/// strerror_r of POSIX.
int __xpg_strerror_r(tx& t, int error, char* to, std::size_t size);

/// Whether the locale of the thread orders strings as strcmp does.
bool collates_by_value() noexcept;

}  // namespace tutti::libc
