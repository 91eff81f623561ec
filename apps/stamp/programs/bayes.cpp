#include "stamp/programs/bayes.hpp"

#include "stamp/programs.hpp"

namespace stamp {

const program bayes_program{.name = "bayes",
                            .what = "learns what depends on what",
                            .unit = "records",
                            .usual = 250'000,
                            .quick = 4'000,
                            .min_size = 2,
                            .max_size = 100'000'000,
                            .sequential = bayes::run<sequential>,
                            .library = bayes::run<library>};

}  // namespace stamp
