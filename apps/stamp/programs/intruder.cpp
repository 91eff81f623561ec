#include "stamp/programs/intruder.hpp"

#include "stamp/programs.hpp"

namespace stamp {

const program intruder_program{.name = "intruder",
                               .what = "finds attacks in mixed network traffic",
                               .unit = "flows",
                               .usual = 60'000,
                               .quick = 1'500,
                               .min_size = 1,
                               .max_size = 10'000'000,
                               .sequential = intruder::run<sequential>,
                               .library = intruder::run<library>};

}  // namespace stamp
