// The interface of a program of the suite to the command line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "stamp/builds/library.hpp"
#include "stamp/builds/sequential.hpp"
#include "stamp/worker_group.hpp"

namespace stamp {

struct run_settings {
    unsigned threads = 1;
    std::size_t size = 0;  ///< in the program's own unit
    std::uint64_t seed = 1;
};

struct run_outcome {
    double seconds = 0;  ///< of the parallel part, excluding making the input and checking the result
    counts blocks;       ///< of the parallel part
    std::string wrong;   ///< the error that the check found; empty if the result is correct
};

using run_function = run_outcome (*)(const run_settings&);

/// Runs the parallel part of a program.
template <class B, class Work>
run_outcome measured(const run_settings& how, const Work& work) {
    run_outcome outcome;
    B::start_counting();
    outcome.seconds = run_worker_group(how.threads, work);
    outcome.blocks = B::counted();
    return outcome;
}

struct program {
    const char* name;
    const char* what;
    const char* unit;      ///< the unit of a size
    std::size_t usual;     ///< the size for one to two seconds on one thread without transactions
    std::size_t quick;     ///< for tests: about 50 ms
    std::size_t min_size;  ///< minimum size
    std::size_t max_size;  ///< maximum size
    run_function sequential;
    run_function library;
};

}  // namespace stamp
