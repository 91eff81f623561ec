// The command line of tutti-bench-growth.
#pragma once

#include <string>

#include "growth/curves.hpp"

namespace bench::growth {

struct settings {
    std::string curve;  ///< empty: list all curves
    point at;
    bool without = false;
};

/// Ends the program after --help and for invalid arguments.
settings parse(int argc, char** argv);

}  // namespace bench::growth
