/// @file
/// Conversions between the C interface and C++: the same transaction under either name, for programs that use both.
#pragma once

#include "tutti/tutti.h"
#include "tutti/tx.hpp"

namespace tutti {

/// Converts the transaction of a C body for C++ calls.
[[nodiscard]] inline tx& from_c(tutti_tx* t) noexcept { return *reinterpret_cast<tx*>(t); }
/// Converts the transaction of a C++ body for C calls.
[[nodiscard]] inline tutti_tx* to_c(tx& t) noexcept { return reinterpret_cast<tutti_tx*>(&t); }

}  // namespace tutti
