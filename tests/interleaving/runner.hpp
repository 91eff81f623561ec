// Runs a program under an algorithm: explores its executions and checks each of them.
//
// Environment
//   TUTTI_INTERLEAVE_REPLAY  a schedule: only this execution runs, and its trace is printed
//   TUTTI_INTERLEAVE_POINTS  with a replay, also prints the place in the engine of each switch, for addr2line
//   TUTTI_INTERLEAVE_SCALE   factor for the number of executions, 1 by default
//   TUTTI_INTERLEAVE_SEED    seed of the first random execution, 1 by default
#pragma once

#include "core/state/fault_injection.hpp"
#include "explore.hpp"
#include "flavours.hpp"
#include "program.hpp"

namespace interleaving {

/// Returns limits for these numbers of executions in a release build: fewer in slower builds, and scaled by the
/// environment.
[[nodiscard]] limits affordable(std::uint64_t exhaustive, std::uint64_t random);

struct result {
    exploration explored;
    /// The failure's description, replay line and trace. Empty if the program has no failure.
    std::string failure;
};

/// Explores the program. `where` names the test in the replay line. REQUIRES: the engine is not wrecked.
[[nodiscard]] result run_program(const program& what, const flavour& under, const limits& how_much,
                                 std::string_view where, tutti::core::fault omitted_step = tutti::core::fault::none);

/// Returns true if an execution has not ended. The engine is then in an intermediate state, and no other execution can
/// run.
[[nodiscard]] bool engine_is_wrecked() noexcept;

/// Runs the program in a child process and returns only the failure, for programs that are expected to fail. A child
/// that crashes has failed as well.
[[nodiscard]] std::string run_in_child(const program& what, const flavour& under, const limits& how_much,
                                       tutti::core::fault omitted_step);

}  // namespace interleaving
