// All programs in one translation unit, because it needs different compiler flags.
#include "stamp/language.hpp"

#include <array>
#include <utility>

#include "stamp/builds/language.hpp"
#include "stamp/programs.hpp"
#include "stamp/programs/bayes.hpp"
#include "stamp/programs/genome.hpp"
#include "stamp/programs/intruder.hpp"
#include "stamp/programs/kmeans.hpp"
#include "stamp/programs/labyrinth.hpp"
#include "stamp/programs/ssca2.hpp"
#include "stamp/programs/vacation.hpp"
#include "stamp/programs/yada.hpp"

namespace stamp {

run_function language_build_of(const program& p) {
    static const std::array<std::pair<const program*, run_function>, 10> all = {{
        {&intruder_program, intruder::run<language>},
        {&kmeans_low_program, kmeans::run<language, 40>},
        {&kmeans_high_program, kmeans::run<language, 15>},
        {&vacation_low_program, vacation::run_low<language>},
        {&vacation_high_program, vacation::run_high<language>},
        {&genome_program, genome::run<language>},
        {&yada_program, yada::run<language>},
        {&labyrinth_program, labyrinth::run<language>},
        {&ssca2_program, ssca2::run<language>},
        {&bayes_program, bayes::run<language>},
    }};
    for (const auto& [one, run] : all) {
        if (one == &p) return run;
    }
    return nullptr;
}

}  // namespace stamp
