// The build on the language's blocks, if the compiler supports them.
#pragma once

#include "stamp/program.hpp"

namespace stamp {

#if defined(STAMP_LANGUAGE)
inline constexpr bool has_language_build = true;
/// REQUIRES: p is one of all_programs().
[[nodiscard]] run_function language_build_of(const program& p);
#else
inline constexpr bool has_language_build = false;
#endif

}  // namespace stamp
