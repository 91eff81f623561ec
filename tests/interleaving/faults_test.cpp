// Tests of the tests: without one step of the protocol, the exploration of a program that depends on it must fail.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "runner.hpp"

namespace interleaving {
namespace {

using tutti::core::fault;

struct expectation {
    std::string name;
    fault omitted_step;
    std::string_view flavour;
    const char* program;
    /// A part of the failure's text. Empty for a use after free, because a crash may come first.
    const char* caught_as;
};

std::vector<expectation> expectations() {
    std::vector<expectation> all;
    const auto expect = [&all](const char* name, fault omitted_step, const char* program, const char* caught_as,
                               std::initializer_list<const char*> under) {
        for (const char* f : under) all.push_back({std::string{name} + "_" + f, omitted_step, f, program, caught_as});
    };
    expect("no_validation_lets_write_skew_through", fault::skip_validation, "write_skew", "not opaque",
           {"wb_etl", "wt_etl"});
    expect("no_validation_loses_an_update", fault::skip_validation, "lost_update", "not opaque", {"wb_ctl", "norec"});
    expect("a_blind_extension_makes_zombies", fault::extend_without_validation, "zombie_that_would_write", "not opaque",
           {"wb_etl", "wt_etl", "wb_ctl", "norec"});
    expect("an_early_release_shows_old_values", fault::release_before_publish, "unlogged_snapshot", "not opaque",
           {"wb_etl", "wb_ctl"});
    expect("an_early_release_loses_an_update", fault::release_before_publish, "lost_update", "not opaque", {"norec"});
    expect("an_early_release_shows_dirty_values", fault::release_before_publish, "exception_leaves", "not opaque",
           {"wt_etl"});
    expect("one_load_of_the_orec_is_not_enough", fault::single_orec_load, "unlogged_snapshot", "not opaque",
           {"wb_etl", "wt_etl", "wb_ctl"});
    expect("two_equal_loads_of_the_orec_are_not_enough", fault::trust_every_version,
           "load_outside_across_a_block_of_the_last_writer", "not opaque", {"wt_etl_deferred"});
    expect("a_wake_up_is_lost", fault::retry_without_recheck, "consumer_waits", "lost wake-up",
           {"wb_etl", "wt_etl", "wb_ctl", "norec"});
    expect("a_wake_up_is_not_passed_on", fault::skip_next_wake_up, "two_read_only_waiters", "lost wake-up",
           {"wb_etl", "wt_etl", "wb_ctl", "norec"});
    expect("a_failing_waiter_keeps_the_wake_up", fault::skip_next_wake_up, "woken_behind_one_that_fails",
           "lost wake-up", {"wb_etl"});
    expect("a_waiter_that_timed_out_keeps_the_wake_up", fault::skip_next_wake_up, "woken_behind_one_whose_time_is_up",
           "lost wake-up", {"wb_etl"});
    expect("a_change_wakes_no_waiter", fault::skip_next_wake_up, "woken_between_two_changes", "lost wake-up",
           {"wb_etl"});
    expect("a_released_slot_wakes_no_waiter", fault::release_slot_without_wake_up, "three_irrevocable_at_once",
           "lost wake-up", {"wb_etl", "norec"});
    expect("private_memory_is_still_written", fault::privatize_without_waiting, "privatize_from_a_writer", "not opaque",
           {"wb_etl", "wt_etl", "wb_ctl"});
    expect("private_memory_is_still_read", fault::privatize_without_waiting, "privatize_from_an_unlogged_reader",
           "not opaque", {"wb_etl"});
    expect("private_memory_is_read_without_a_refresh", fault::reply_without_refreshing, "privatize_from_a_writer",
           "not opaque", {"wb_etl", "wt_etl", "wb_ctl"});
    expect("private_memory_is_handed_over_too_early", fault::receive_without_waiting, "hand_over_to_a_block",
           "not opaque", {"wb_etl", "wt_etl", "wb_ctl"});
    expect("a_result_of_quiescence_is_stored_too_early", fault::store_result_before_waiting,
           "hand_over_with_a_known_result", "not opaque", {"wb_etl", "wt_etl", "wb_ctl"});
    expect("a_privatization_is_announced_too_late", fault::announce_after_drawing, "hand_over_to_the_second_block",
           "not opaque", {"wb_etl", "wt_etl"});
    expect("an_unpublished_commit_is_ignored", fault::ignore_unpublished_commits, "hand_over_to_the_second_block",
           "not opaque", {"wt_etl"});
    expect("a_snapshot_lasts_into_the_next_era", fault::take_snapshot_before_state, "unlogged_snapshot_of_two_commits",
           "not opaque", {"wb_etl_ending", "wt_etl_ending"});
    expect("a_result_of_quiescence_survives_its_era", fault::keep_quiescence_results,
           "hand_over_to_a_block_after_an_update", "not opaque", {"wb_etl_ending"});
    expect("a_late_result_of_quiescence_counts_in_the_next_era", fault::ignore_quiescence_in_progress,
           "hand_over_to_a_block_beside_an_update", "not opaque", {"wb_etl_ending"});
    expect("memory_privatized_in_open_nesting_is_still_written", fault::skip_deferred_quiescence_of_inner,
           "privatize_in_open_nesting", "not opaque", {"wb_etl", "wt_etl", "wb_ctl"});
    expect("an_undo_waits_for_a_waiter_for_its_lock", fault::wait_with_abstract_locks,
           "undone_while_an_irrevocable_user_of_plain_memory_waits_for_its_lock", "", {"wb_etl", "wt_etl", "wb_ctl"});
    expect("an_undo_reads_from_a_waiter_for_its_lock", fault::wait_with_abstract_locks,
           "undone_reading_while_an_irrevocable_user_of_plain_memory_waits_for_its_lock", "", {"wb_etl", "wb_ctl"});
    expect("a_running_member_is_unlinked", fault::unlink_without_recheck, "privatize_from_a_reader_that_was_asleep",
           "not opaque", {"wb_etl"});
    expect("objects_are_destroyed_too_early", fault::reclaim_without_waiting, "object_is_dropped_under_a_reader", "",
           {"wb_etl", "norec"});
    expect("a_partial_roll_back_keeps_invalid_reads", fault::roll_back_too_little, "conflict_around_checkpoints",
           "not opaque", {"wb_etl", "wt_etl", "wb_ctl", "norec"});
    expect("marks_are_ignored", fault::ignore_visible_readers, "become_irrevocable_late", "", {"wb_etl", "wt_etl"});
    expect("a_serial_block_runs_beside_earlier_blocks", fault::serial_without_waiting, "become_serial_beside_a_writer",
           "not opaque", {"wb_etl", "wt_etl"});
    expect("a_serial_block_runs_beside_later_blocks", fault::begin_beside_a_serial_transaction,
           "become_serial_beside_a_reader", "not opaque", {"wb_etl", "wt_etl"});
    expect("a_block_begins_unannounced_in_a_stopped_world", fault::begin_in_a_stopped_world,
           "begin_serial_again_beside_a_writer", "not opaque", {"wb_etl", "wt_etl"});
    expect("a_serial_owner_ignores_a_seized_token", fault::ignore_token_seizure,
           "begin_serial_beside_one_that_becomes_serial", "not opaque", {"wb_etl", "wt_etl"});
    expect("the_biased_owner_does_not_recheck", fault::bias_without_recheck, "the_biased_owner_beside_a_writer",
           "not opaque", {"wt_etl"});
    expect("a_serial_block_overtakes_handlers", fault::overtake_handlers, "begin_serial_beside_a_handler",
           "beside the handlers", {"wb_etl", "wt_etl"});
    expect("the_biased_owner_overtakes_handlers", fault::overtake_handlers, "the_biased_owner_beside_a_handler",
           "beside the handlers", {"wt_etl"});
    expect("a_revoked_bias_is_used", fault::bias_although_revoked, "the_biased_owner_again_and_again", "not opaque",
           {"wt_etl"});
    expect("a_writer_keeps_nothing", fault::keep_nothing, "snapshot_of_plain_words", "not opaque",
           {"wb_etl", "wt_etl", "wb_ctl"});
    expect("a_writer_keeps_plain_words_by_version", fault::keep_by_version_only,
           "snapshot_of_two_words_under_one_orec_and_a_variable", "not opaque", {"wb_etl", "wt_etl", "wb_ctl"});
    expect("a_writer_keeps_what_it_has_written", fault::keep_written_value, "snapshot_beside_a_writer", "not opaque",
           {"wt_etl"});
    expect("a_snapshot_searches_before_it_loads", fault::search_before_load,
           "snapshot_of_two_words_under_one_orec_and_a_variable", "not opaque", {"wb_etl", "wt_etl", "wb_ctl"});
    expect("hardware_sees_half_a_software_commit", fault::hardware_without_subscription, "write_skew", "not opaque",
           {"hytm_failing", "htm_failing"});
    expect("hardware_subscribes_before_its_begin", fault::subscribe_before_begin, "lost_update_of_three", "not opaque",
           {"hytm_failing", "htm_failing"});
    expect("software_does_not_see_a_hardware_commit", fault::commit_uncounted, "snapshot_is_extended", "not opaque",
           {"hytm_failing", "htm_failing"});
    expect("software_commits_over_a_hardware_commit", fault::lock_without_recheck, "lost_update_of_three", "not opaque",
           {"hytm_failing", "htm_failing"});
    expect("hardware_commits_under_an_irrevocable_block", fault::ignore_visible_readers, "become_irrevocable_late", "",
           {"hytm"});
    expect("software_beside_hardware_does_not_validate", fault::skip_validation, "write_skew", "not opaque",
           {"hytm_failing"});
    return all;
}

void PrintTo(const expectation& e, std::ostream* to) { *to << e.name; }

class protocol_test : public testing::TestWithParam<expectation> {};

TEST_P(protocol_test, fails_the_check) {
    const expectation& e = GetParam();
    const flavour& under = *std::ranges::find(flavours, e.flavour, &flavour::name);
    const program& what = program_named(e.program);
    // The limits are not reduced in slow builds, because the search ends at the first failure.
    const limits how_much{.exhaustive = 400'000, .random = 2000};
    const std::string failure = run_in_child(what, under, how_much, e.omitted_step);
    EXPECT_FALSE(failure.empty());
    EXPECT_NE(failure.find(e.caught_as), std::string::npos) << "reported instead: '" << failure << "'";
}

INSTANTIATE_TEST_SUITE_P(without_one_step, protocol_test, testing::ValuesIn(expectations()),
                         [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace interleaving
