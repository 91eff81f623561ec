#include "stamp/programs/vacation.hpp"

#include "stamp/programs.hpp"

namespace stamp {

const program vacation_low_program{.name = "vacation-low",
                                   .what = "books cars, flights and rooms",
                                   .unit = "transactions",
                                   .usual = 200'000,
                                   .quick = 6'000,
                                   .min_size = 4,
                                   .max_size = 100'000'000,
                                   .sequential = vacation::run_low<sequential>,
                                   .library = vacation::run_low<library>};

const program vacation_high_program{.name = "vacation-high",
                                    .what = "the same with more queries on fewer items",
                                    .unit = "transactions",
                                    .usual = 200'000,
                                    .quick = 6'000,
                                    .min_size = 4,
                                    .max_size = 100'000'000,
                                    .sequential = vacation::run_high<sequential>,
                                    .library = vacation::run_high<library>};

}  // namespace stamp
