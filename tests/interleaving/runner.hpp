// Runs a program under an algorithm: explores its executions and checks each of them.
//
// Environment
//   TUTTI_INTERLEAVE_REPLAY  a schedule: only this execution is run, and its trace is printed
//   TUTTI_INTERLEAVE_POINTS  with it: also where in the engine each switch happened, for addr2line
//   TUTTI_INTERLEAVE_SCALE   factor for the number of executions, 1 by default
//   TUTTI_INTERLEAVE_SEED    of the first random execution, 1 by default
#pragma once

#include "core/state/fault.hpp"
#include "explore.hpp"
#include "flavours.hpp"
#include "program.hpp"

namespace interleaving {

/// So many executions in a release build; fewer in slower ones, and scaled by the environment.
[[nodiscard]] limits affordable(std::uint64_t exhaustive, std::uint64_t random);

struct result {
    exploration explored;
    /// Everything that a failure's finder needs: what was wrong, how to replay it, and the trace. Empty if all is well.
    std::string failure;
};

/// `where` names the test in the replay line. REQUIRES: the engine is not wrecked.
[[nodiscard]] result run_program(const program& what, const flavour& under, const limits& how_much,
                                 std::string_view where, tutti::core::fault broken = tutti::core::fault::none);

/// Whether an execution has not ended: it has left the engine in the middle of it, and nothing else can run.
[[nodiscard]] bool engine_is_wrecked() noexcept;

/// The same in a child process, for programs that are expected to fail: only the failure comes back. A child that
/// crashes has failed, too.
[[nodiscard]] std::string run_apart(const program& what, const flavour& under, const limits& how_much,
                                    tutti::core::fault broken);

}  // namespace interleaving
