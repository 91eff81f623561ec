// The command line of tutti-bench-growth.
#pragma once

#include <string>

#include "growth/curves.hpp"

namespace bench::growth {

struct settings {
    std::string curve;  ///< or empty, for a list of them
    point at;
    bool without = false;
};

/// Ends the program after --help and when the arguments make no sense.
settings parse(int argc, char** argv);

}  // namespace bench::growth
