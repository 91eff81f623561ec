#include "stamp/programs/ssca2.hpp"

#include "stamp/programs.hpp"

namespace stamp {

const program ssca2_program{.name = "ssca2",
                            .what = "builds a graph from its edges",
                            .unit = "nodes",
                            .usual = 300'000,
                            .quick = 3'000,
                            .min_size = 1,
                            .max_size = 100'000'000,
                            .sequential = ssca2::run<sequential>,
                            .library = ssca2::run<library>};

}  // namespace stamp
