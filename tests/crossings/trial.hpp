// Runs one program from its start to its verdict, also in a child process, which may crash, hang or be killed.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "program.hpp"

namespace crossings {

/// The process's configuration, chosen before its first transaction.
struct engine {
    std::string algorithm;
    std::string policy;
};

/// Runs the program on new places, and checks it. Returns the error.
[[nodiscard]] std::optional<std::string> judge(const program& p, const engine& e);

struct failure_of_child {
    std::uint64_t seed;
    std::string kind;  ///< one or two words; a smaller program must fail with the same kind
    std::string what;
};

struct stretch {
    std::uint64_t first;
    std::uint64_t last;  ///< exclusive
    bool many_threads;
    /// Skips each program that has all ingredients of one of these sets, because it would fail as an earlier program
    /// did.
    std::vector<std::set<std::string>> known{};
    /// Skips programs that lack one of these ingredients.
    std::set<std::string> wanted{};
};

/// Runs the programs of those seeds in a child. Returns the first failure; `done` is the number of successful programs
/// before it. A program hangs if it makes no progress for `seconds_to_hang`.
[[nodiscard]] std::optional<failure_of_child> try_seeds(const stretch& s, const engine& e, double seconds_to_hang,
                                                        double seconds, std::uint64_t& done);

/// Runs one program `times` times in a child. Returns its failure.
[[nodiscard]] std::optional<failure_of_child> try_program(const program& p, const engine& e, double seconds_to_hang,
                                                          int times);

}  // namespace crossings
