#include "stamp/programs/labyrinth.hpp"

#include "stamp/programs.hpp"

namespace stamp {

const program labyrinth_program{.name = "labyrinth",
                                .what = "lays wires in a maze",
                                .unit = "wires",
                                .usual = 300,
                                .quick = 50,
                                .min_size = 1,
                                .max_size = 100'000,
                                .sequential = labyrinth::run<sequential>,
                                .library = labyrinth::run<library>};

}  // namespace stamp
