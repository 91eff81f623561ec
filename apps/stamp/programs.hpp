// All programs of the suite.
#pragma once

#include <string_view>
#include <vector>

#include "stamp/program.hpp"

namespace stamp {

// Each in its own file of programs/.
extern const program intruder_program;

[[nodiscard]] const std::vector<const program*>& all_programs();

/// Null if there is none of that name.
[[nodiscard]] const program* find_program(std::string_view name);

}  // namespace stamp
