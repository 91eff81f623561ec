// One program, from its start to its verdict; and the same in a child process, which may crash, hang or be ended.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "program.hpp"

namespace crossings {

/// What the process runs, chosen before its first transaction.
struct engine {
    std::string algorithm;
    std::string policy;
};

/// Runs the program on new places, and judges it. Returns what is wrong.
[[nodiscard]] std::optional<std::string> judge(const program& p, const engine& e);

struct failure_of_child {
    std::uint64_t seed;
    std::string kind;  ///< one word or two: what a smaller program has to have in common
    std::string what;
};

struct stretch {
    std::uint64_t first;
    std::uint64_t last;  ///< exclusive
    bool many_threads;
    /// Programs that have all ingredients of one of these are left out: they would fail as others have.
    std::vector<std::set<std::string>> known{};
    /// Programs that lack one of these are left out.
    std::set<std::string> wanted{};
};

/// Runs the programs of those seeds in a child. Returns the first that fails; `done` is how many were right before it.
/// A program hangs if it makes no progress for this number of seconds.
[[nodiscard]] std::optional<failure_of_child> try_seeds(const stretch& s, const engine& e, double seconds_to_hang,
                                                        double seconds, std::uint64_t& done);

/// Runs one program so many times in a child. Returns how it fails.
[[nodiscard]] std::optional<failure_of_child> try_program(const program& p, const engine& e, double seconds_to_hang,
                                                          int times);

}  // namespace crossings
