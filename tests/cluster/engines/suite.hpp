// What every engine must do, as functions that say what is wrong, or nothing: so the same ones judge real servers and,
// with a step left out, the embedded engine.
//
// suite_isolation.cpp: blocks that meet; suite_answers.cpp: answers that are lost; suite_waiting.cpp: retry and
// irrevocable blocks; suite.cpp: the rest.
#pragma once

#include <string>

#include "tutti/cluster/engine.hpp"

namespace tutti::cluster::testing {

/// Whom the functions below share an engine with: each makes nodes of its own of it.
struct under_test {
    std::string address;
    std::string engine;  ///< its name in the suite
    [[nodiscard]] engine_options options(std::chrono::milliseconds patience = std::chrono::seconds{20}) const;
};

/// Threads of two nodes read and write a few objects at random; one order must explain every attempt, also those that
/// were rolled back (opacity).
[[nodiscard]] std::string history_is_clean(const under_test& e, std::size_t rounds);
/// Objects beside variables that change together: no attempt sees them differ.
[[nodiscard]] std::string variables_agree(const under_test& e, std::size_t rounds);
/// One block reads a variable and writes an object, another reads the object and writes the variable: not both.
[[nodiscard]] std::string no_skew_with_variables(const under_test& e, std::size_t rounds);
/// Two blocks read two objects, and then each writes the other one: not both.
[[nodiscard]] std::string no_skew_between_objects(const under_test& e);
/// Two objects that one block writes: nobody sees one of the writes without the other.
[[nodiscard]] std::string writes_are_whole(const under_test& e, std::size_t rounds);
/// A block reads one of two objects, another changes both, and the block reads the second: never one of each.
[[nodiscard]] std::string held_reads_stay_true(const under_test& e);
/// A nested block that is rolled back alone, over a variable, takes a new state of the objects, too.
[[nodiscard]] std::string rolled_back_reads_take_a_new_state(const under_test& e);
/// What is erased and made again is not what it was.
[[nodiscard]] std::string absent_twice_differs(const under_test& e);
/// A block that sleeps in retry goes on when another node has changed what it read; if it has not within `limit`, it
/// counts as asleep for good.
[[nodiscard]] std::string retry_wakes(const under_test& e, std::chrono::seconds limit);
/// Answers that are lost, before the commit, after it, or with a commit that comes late: nothing twice, nothing lost.
[[nodiscard]] std::string lost_answers_are_found_out(const under_test& e, std::size_t rounds);
/// What tells of commits is gone with its program, unless a late commit may still be about.
[[nodiscard]] std::string marks_are_forgotten(const under_test& e);
/// Blocks that are irrevocable beside others that write the same objects: each runs once, and none is lost.
[[nodiscard]] std::string irrevocable_blocks_run_once(const under_test& e, std::size_t rounds);
/// Refused with the engine's name, and nothing of it is written.
[[nodiscard]] std::string too_large_is_refused(const under_test& e);

}  // namespace tutti::cluster::testing
