// The tests of the tests: with a step of the protocol left out, exploring the program that depends on it must fail.
#include <gtest/gtest.h>

#include <algorithm>

#include "runner.hpp"

namespace interleaving {
namespace {

using tutti::core::fault;

struct expectation {
    const char* name;
    fault broken;
    const char* flavour;
    const char* program;
    /// Part of what the failure says. Empty where memory is used after its end: then a crash may come first.
    const char* caught_as;
};

constexpr expectation expected[] = {
    {"no_validation_lets_write_skew_through", fault::skip_validation, "wb_etl", "write_skew", "not opaque"},
    {"no_validation_lets_write_skew_through_wt", fault::skip_validation, "wt_etl", "write_skew", "not opaque"},
    {"no_validation_loses_an_update", fault::skip_validation, "wb_ctl", "lost_update", "not opaque"},
    {"no_validation_loses_an_update_norec", fault::skip_validation, "norec", "lost_update", "not opaque"},
    {"a_blind_extension_makes_zombies", fault::extend_without_validation, "wb_etl", "zombie_that_would_write",
     "not opaque"},
    {"a_blind_extension_makes_zombies_wt", fault::extend_without_validation, "wt_etl", "zombie_that_would_write",
     "not opaque"},
    {"a_blind_extension_makes_zombies_ctl", fault::extend_without_validation, "wb_ctl", "zombie_that_would_write",
     "not opaque"},
    {"a_blind_extension_makes_zombies_norec", fault::extend_without_validation, "norec", "zombie_that_would_write",
     "not opaque"},
    {"an_early_release_shows_old_values", fault::release_before_publish, "wb_etl", "unlogged_snapshot", "not opaque"},
    {"an_early_release_shows_old_values_ctl", fault::release_before_publish, "wb_ctl", "unlogged_snapshot",
     "not opaque"},
    {"an_early_release_shows_old_values_norec", fault::release_before_publish, "norec", "lost_update", "not opaque"},
    {"an_early_release_shows_dirty_values", fault::release_before_publish, "wt_etl", "exception_leaves", "not opaque"},
    {"one_look_at_the_record_is_not_enough", fault::single_record_load, "wb_etl", "unlogged_snapshot", "not opaque"},
    {"one_look_at_the_record_is_not_enough_wt", fault::single_record_load, "wt_etl", "unlogged_snapshot", "not opaque"},
    {"one_look_at_the_record_is_not_enough_ctl", fault::single_record_load, "wb_ctl", "unlogged_snapshot",
     "not opaque"},
    {"a_wake_up_is_lost", fault::retry_without_recheck, "wb_etl", "consumer_waits", "lost wake-up"},
    {"a_wake_up_is_lost_wt", fault::retry_without_recheck, "wt_etl", "consumer_waits", "lost wake-up"},
    {"a_wake_up_is_lost_ctl", fault::retry_without_recheck, "wb_ctl", "consumer_waits", "lost wake-up"},
    {"a_wake_up_is_lost_norec", fault::retry_without_recheck, "norec", "consumer_waits", "lost wake-up"},
    {"private_memory_is_still_written", fault::privatize_without_waiting, "wb_etl", "privatize_from_a_writer",
     "not opaque"},
    {"private_memory_is_still_written_wt", fault::privatize_without_waiting, "wt_etl", "privatize_from_a_writer",
     "not opaque"},
    {"private_memory_is_still_written_ctl", fault::privatize_without_waiting, "wb_ctl", "privatize_from_a_writer",
     "not opaque"},
    {"private_memory_is_still_read", fault::privatize_without_waiting, "wb_etl", "privatize_from_an_unlogged_reader",
     "not opaque"},
    {"private_memory_is_handed_over_too_early", fault::receive_without_waiting, "wb_etl", "hand_over_to_a_block",
     "not opaque"},
    {"private_memory_is_handed_over_too_early_wt", fault::receive_without_waiting, "wt_etl", "hand_over_to_a_block",
     "not opaque"},
    {"private_memory_is_handed_over_too_early_ctl", fault::receive_without_waiting, "wb_ctl", "hand_over_to_a_block",
     "not opaque"},
    {"objects_are_destroyed_too_early", fault::reclaim_without_waiting, "wb_etl", "object_is_dropped_under_a_reader",
     ""},
    {"objects_are_destroyed_too_early_norec", fault::reclaim_without_waiting, "norec",
     "object_is_dropped_under_a_reader", ""},
    {"a_roll_back_goes_not_far_enough", fault::rewind_too_little, "wb_etl", "conflict_around_checkpoints",
     "not opaque"},
    {"a_roll_back_goes_not_far_enough_wt", fault::rewind_too_little, "wt_etl", "conflict_around_checkpoints",
     "not opaque"},
    {"a_roll_back_goes_not_far_enough_ctl", fault::rewind_too_little, "wb_ctl", "conflict_around_checkpoints",
     "not opaque"},
    {"a_roll_back_goes_not_far_enough_norec", fault::rewind_too_little, "norec", "conflict_around_checkpoints",
     "not opaque"},
    {"marks_are_ignored", fault::ignore_visible_readers, "wb_etl", "irrevocable_late", ""},
    {"marks_are_ignored_wt", fault::ignore_visible_readers, "wt_etl", "irrevocable_late", ""},
    {"who_is_alone_meets_who_ran_before", fault::alone_without_waiting, "wb_etl", "alone_beside_a_writer",
     "not opaque"},
    {"who_is_alone_meets_who_ran_before_wt", fault::alone_without_waiting, "wt_etl", "alone_beside_a_writer",
     "not opaque"},
    {"who_is_alone_meets_who_comes", fault::begin_beside_who_is_alone, "wb_etl", "alone_beside_a_reader", "not opaque"},
    {"who_is_alone_meets_who_comes_wt", fault::begin_beside_who_is_alone, "wt_etl", "alone_beside_a_reader",
     "not opaque"},
    {"the_favourite_had_not_looked", fault::favourite_without_second_look, "wt_etl", "the_favourite_beside_a_writer",
     "not opaque"},
    {"the_favourite_was_dismissed", fault::favourite_although_dismissed, "wt_etl", "the_favourite_again_and_again",
     "not opaque"},
};

void PrintTo(const expectation& e, std::ostream* to) { *to << e.name; }

class breaking : public testing::TestWithParam<expectation> {};

TEST_P(breaking, is_noticed) {
    const expectation& e = GetParam();
    const flavour& under = *std::ranges::find(flavours, std::string_view{e.flavour}, &flavour::name);
    const program& what = program_named(e.program);
    // Not less in slow builds: it ends at the first failure.
    const limits how_much{.exhaustive = 20'000, .random = 2000};
    const std::string failure = run_apart(what, under, how_much, e.broken);
    EXPECT_FALSE(failure.empty());
    EXPECT_NE(failure.find(e.caught_as), std::string::npos) << "reported instead: '" << failure << "'";
}

INSTANTIATE_TEST_SUITE_P(the_protocol, breaking, testing::ValuesIn(expected),
                         [](const auto& tested) { return std::string{tested.param.name}; });

}  // namespace
}  // namespace interleaving
