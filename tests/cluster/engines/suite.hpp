// Requirements for every engine, as functions that return an error or an empty string. The same functions check real
// servers and, with an injected fault, the embedded engine.
//
// suite_isolation.cpp: conflicting blocks; suite_answers.cpp: lost answers; suite_waiting.cpp: retry and irrevocable
// blocks; suite.cpp: all others.
#pragma once

#include <string>

#include "tutti/cluster/engine.hpp"

namespace tutti::cluster::testing {

/// The engine under test. Each function makes its own nodes.
struct under_test {
    std::string address;
    std::string engine;  ///< its name in the suite
    [[nodiscard]] engine_options options(std::chrono::milliseconds request_timeout = std::chrono::seconds{20}) const;
};

/// Threads of two nodes read and write a few objects at random. One order must explain every attempt, including
/// rolled-back ones (opacity).
[[nodiscard]] std::string history_is_clean(const under_test& e, std::size_t rounds);
/// Objects and variables change together, and every attempt sees them equal.
[[nodiscard]] std::string variables_agree(const under_test& e, std::size_t rounds);
/// One block reads a variable and writes an object; another reads the object and writes the variable. At most one of
/// them commits on the old state.
[[nodiscard]] std::string no_skew_with_variables(const under_test& e, std::size_t rounds);
/// Two blocks read two objects, and then each writes the other object. At most one of them commits on the old state.
[[nodiscard]] std::string no_skew_between_objects(const under_test& e);
/// One block writes two objects. Other blocks see both writes or neither.
[[nodiscard]] std::string writes_are_whole(const under_test& e, std::size_t rounds);
/// A block reads one of two objects, another block changes both, and the first block reads the second. It never sees
/// one old and one new value.
[[nodiscard]] std::string held_reads_stay_true(const under_test& e);
/// A nested block that is rolled back alone, because of a variable, also takes a new state of the objects.
[[nodiscard]] std::string rolled_back_reads_take_a_new_state(const under_test& e);
/// An object that was erased and published again differs from the former one.
[[nodiscard]] std::string absent_twice_differs(const under_test& e);
/// A block that sleeps in retry continues when another node has changed an object that it read. If it still sleeps
/// after `limit`, the test fails.
[[nodiscard]] std::string retry_wakes(const under_test& e, std::chrono::seconds limit);
/// Answers are lost before the commit, after the commit, or with a commit that takes effect late. No commit happens
/// twice or gets lost.
[[nodiscard]] std::string lost_answers_are_found_out(const under_test& e, std::size_t rounds);
/// The commit records are removed with their program, unless a late commit may still take effect.
[[nodiscard]] std::string commit_records_are_forgotten(const under_test& e);
/// Irrevocable blocks beside others that write the same objects: each runs once, and none is lost.
[[nodiscard]] std::string irrevocable_blocks_run_once(const under_test& e, std::size_t rounds);
/// A too large commit is refused with the engine's name, and nothing of it is written.
[[nodiscard]] std::string too_large_is_refused(const under_test& e);

}  // namespace tutti::cluster::testing
