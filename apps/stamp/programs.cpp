#include "stamp/programs.hpp"

#include <algorithm>

namespace stamp {

const std::vector<const program*>& all_programs() {
    static const std::vector<const program*> all = {
        &intruder_program, &kmeans_low_program, &kmeans_high_program, &vacation_low_program, &vacation_high_program,
        &genome_program,   &yada_program,       &labyrinth_program,   &ssca2_program,        &bayes_program};
    return all;
}

const program* find_program(std::string_view name) {
    const auto& all = {&intruder_program,      &kmeans_low_program, &kmeans_high_program, &vacation_low_program,
                       &vacation_high_program, &genome_program,     &yada_program,        &labyrinth_program,
                       &ssca2_program,         &bayes_program};
    const auto found = std::ranges::find_if(all, [&](const program* p) { return p->name == name; });
    return found != all.end() ? *found : nullptr;
}

}  // namespace stamp
