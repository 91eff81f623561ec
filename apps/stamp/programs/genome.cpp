#include "stamp/programs/genome.hpp"

#include "stamp/programs.hpp"

namespace stamp {

const program genome_program{.name = "genome",
                             .what = "puts a gene together from segments",
                             .unit = "letters",
                             .usual = 120'000,
                             .quick = 3'000,
                             .min_size = 2 * genome::segment_length,
                             .max_size = 10'000'000,
                             .sequential = genome::run<sequential>,
                             .library = genome::run<library>};

}  // namespace stamp
