// The options of a run on the command line.
#pragma once

#include <string>
#include <vector>

#include "harness/cases.hpp"

namespace bench {

struct settings {
    std::vector<std::string> families;
    std::vector<std::string> workloads;
    std::vector<std::string> engines;
    std::vector<unsigned> threads{1, 2, 8};
    unsigned round_ms = 60;
    unsigned repetitions = 5;
    bool list = false;
    std::vector<std::string> for_google_benchmark;

    [[nodiscard]] bool ask_for(const measured_case& c) const;
};

/// Ends the program after --help and for invalid arguments.
settings parse(int argc, char** argv);

}  // namespace bench
