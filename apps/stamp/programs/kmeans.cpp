#include "stamp/programs/kmeans.hpp"

#include "stamp/programs.hpp"

namespace stamp {

const program kmeans_low_program{.name = "kmeans-low",
                                 .what = "puts points into 40 clusters",
                                 .unit = "points",
                                 .usual = 24'000,
                                 .quick = 1'000,
                                 .min_size = 40,
                                 .max_size = 100'000'000,
                                 .sequential = kmeans::run<sequential, 40>,
                                 .library = kmeans::run<library, 40>};

const program kmeans_high_program{.name = "kmeans-high",
                                  .what = "puts points into 15 clusters: higher contention",
                                  .unit = "points",
                                  .usual = 100'000,
                                  .quick = 1'000,
                                  .min_size = 15,
                                  .max_size = 100'000'000,
                                  .sequential = kmeans::run<sequential, 15>,
                                  .library = kmeans::run<library, 15>};

}  // namespace stamp
