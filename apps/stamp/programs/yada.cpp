#include "stamp/programs/yada.hpp"

#include "stamp/programs.hpp"

namespace stamp {

const program yada_program{.name = "yada",
                           .what = "refines a triangle mesh",
                           .unit = "points",
                           .usual = 500'000,
                           .quick = 8'000,
                           .min_size = 1,
                           .max_size = yada::max_points,
                           .sequential = yada::run<sequential>,
                           .library = yada::run<library>};

}  // namespace stamp
