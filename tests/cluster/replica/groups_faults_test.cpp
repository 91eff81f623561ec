// A transaction over several groups in which a program or a member skips a step: the history of some seed must show the
// fault.
#include <cstdio>
#include <string>

#include <gtest/gtest.h>

#include "cluster/backend/fault_injection.hpp"
#include "cluster/replica/fault_injection.hpp"
#include "cluster/replica/groups_world.hpp"

namespace {

using namespace tutti::cluster::replica;
using namespace tutti::cluster::replica::testing;
using tutti::cluster::backend::fault;
using member_fault = tutti::cluster::replica::fault;

struct broken_step {
    fault of_program;
    member_fault of_member;
    const char* name;
    std::uint64_t begin_at = 0;  // near a seed that shows the fault, if only one of some thousands does
};

class raft_groups_simulation_with_faults : public ::testing::TestWithParam<broken_step> {};

TEST_P(raft_groups_simulation_with_faults, detects_the_fault) {
    std::uint64_t seed = GetParam().begin_at;
    const std::uint64_t last = seed + 3000;
    std::string found;
    tutti::cluster::backend::injected_fault = GetParam().of_program;
    injected_fault = GetParam().of_member;
    // The history must show the fault. A hang, or a leftover transaction, does not test the checker.
    const auto history = [&] { return !found.empty() && !found.starts_with(never_ends) && found != left_prepared; };
    while (!history() && seed < last) found = run_seed(++seed);
    tutti::cluster::backend::injected_fault = fault::none;
    injected_fault = member_fault::none;
    ASSERT_TRUE(history()) << "no seed up to " << seed << " shows it";
    std::printf("seed %llu: %s\n", static_cast<unsigned long long>(seed), found.c_str());
}

INSTANTIATE_TEST_SUITE_P(
    all, raft_groups_simulation_with_faults,
    ::testing::Values(broken_step{fault::decision_unrecorded, member_fault::none, "decision_unrecorded"},
                      broken_step{fault::abort_unrecorded, member_fault::none, "void_unrecorded"},
                      broken_step{fault::read_once, member_fault::none, "one_look"},
                      broken_step{fault::none, member_fault::prepared_holds_nothing, "prepared_holds_nothing"},
                      broken_step{fault::none, member_fault::prepared_ignored, "prepared_ignored"},
                      broken_step{fault::none, member_fault::finished_again, "finished_again"},
                      broken_step{fault::none, member_fault::prepared_not_saved, "prepared_not_saved"},
                      broken_step{fault::moved_unread, member_fault::none, "moved_unread"},
                      broken_step{fault::moved_unchecked, member_fault::none, "moved_unchecked"},
                      broken_step{fault::moved_while_prepared, member_fault::none, "moved_while_prepared"},
                      broken_step{fault::owner_switched_in_two_steps, member_fault::none, "moved_in_two"},
                      broken_step{fault::moved_without_write_block, member_fault::none, "moved_open"},
                      broken_step{fault::moved_without_changes, member_fault::none, "moved_without_changes"},
                      broken_step{fault::import_unannounced, member_fault::none, "arrives_unsaid"},
                      broken_step{fault::old_copies_left, member_fault::none, "copies_left"},
                      broken_step{fault::none, member_fault::imported_uncounted, "imported_uncounted"},
                      // Each of the two steps alone makes a late copy harmless, so this case skips both.
                      broken_step{fault::copies_come_late, member_fault::imports_older, "imports_older", 3440}),
    [](const auto& step) { return std::string{step.param.name}; });

}  // namespace
