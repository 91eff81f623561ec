// All programs of the suite.
#pragma once

#include <string_view>
#include <vector>

#include "stamp/program.hpp"

namespace stamp {

// Each is defined in its own file of programs/.
extern const program intruder_program;
extern const program kmeans_low_program;
extern const program kmeans_high_program;
extern const program vacation_low_program;
extern const program vacation_high_program;
extern const program genome_program;
extern const program yada_program;
extern const program labyrinth_program;
extern const program ssca2_program;
extern const program bayes_program;

[[nodiscard]] const std::vector<const program*>& all_programs();

/// Returns null if there is no program of that name.
[[nodiscard]] const program* find_program(std::string_view name);

}  // namespace stamp
