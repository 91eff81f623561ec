// The deadline policy alone, with given times, and the user's notations of a deadline.
#include "policies/deadline_schedule.hpp"

#include <gtest/gtest.h>

#include "core/modes/strictness_trial.hpp"

namespace tutti::policies {
namespace {

using namespace std::chrono_literals;
using memory::status;

constexpr base::deadline start{1h};
constexpr base::deadline due = start + 100ms;

TEST(deadline_policy_test, uses_the_thresholds_of_the_paper) {
    const auto plan = make_schedule(due, 10ms, {});
    EXPECT_EQ(plan.visible_from, due - 60ms);
    EXPECT_EQ(plan.irrevocable_from, due - 40ms);
    EXPECT_EQ(plan.latest_start, due - 10ms);
}

TEST(deadline_policy_test, makes_attempts_stricter_over_time) {
    const auto plan = make_schedule(due, 10ms, {});
    EXPECT_EQ(plan.mode_at(start), status::active);
    EXPECT_EQ(plan.mode_at(due - 60ms - 1ns), status::active);
    EXPECT_EQ(plan.mode_at(due - 60ms), status::visible);
    EXPECT_EQ(plan.mode_at(due - 40ms - 1ns), status::visible);
    EXPECT_EQ(plan.mode_at(due - 40ms), status::irrevocable);
    EXPECT_EQ(plan.mode_at(due + 1s), status::irrevocable);
    EXPECT_EQ(plan.next_switch_after(status::active), plan.visible_from);
    EXPECT_EQ(plan.next_switch_after(status::visible), plan.irrevocable_from);
    EXPECT_EQ(plan.next_switch_after(status::irrevocable), base::deadline::max());
}

TEST(deadline_policy_test, refuses_a_block_longer_than_the_time_left) {
    const auto plan = make_schedule(due, 10ms, {});
    EXPECT_FALSE(plan.cannot_meet_after(due - 10ms, due));
    EXPECT_TRUE(plan.cannot_meet_after(due - 10ms + 1ns, due));
    EXPECT_TRUE(plan.cannot_meet_after(due, due));
    EXPECT_TRUE(plan.cannot_meet_after(due + 1h, due));
}

// The duration of a block that runs for the first time is unknown, so the block stays optimistic until its deadline.
TEST(deadline_policy_test, stays_optimistic_while_the_duration_is_unknown) {
    const auto plan = make_schedule(due, 0ns, {});
    EXPECT_EQ(plan.mode_at(due - 1ns), status::active);
    EXPECT_FALSE(plan.cannot_meet_after(due - 1ns, due));
    EXPECT_TRUE(plan.cannot_meet_after(due, due));
}

TEST(deadline_policy_test, starts_a_long_block_strictly) {
    EXPECT_EQ(make_schedule(due, 20ms, {}).mode_at(start), status::visible);
    EXPECT_EQ(make_schedule(due, 30ms, {}).mode_at(start), status::irrevocable);
    EXPECT_FALSE(make_schedule(due, 30ms, {}).cannot_meet_after(start, due));
}

TEST(deadline_policy_test, applies_given_factors) {
    const auto plan = make_schedule(due, 10ms, {.visible_factor = 3.5, .irrevocable_factor = 2});
    EXPECT_EQ(plan.visible_from, due - 35ms);
    EXPECT_EQ(plan.irrevocable_from, due - 20ms);
}

TEST(deadline_policy_test, survives_extreme_times) {
    const auto longest = std::chrono::nanoseconds::max();
    EXPECT_EQ(make_schedule(due, longest, {}).visible_from, base::deadline{});
    EXPECT_EQ(make_schedule(due, longest, {}).latest_start, base::deadline{});
    EXPECT_EQ(make_schedule(base::deadline::max(), 1ms, {}).mode_at(start), status::active);
    EXPECT_EQ(make_schedule(due, 1ms, {.visible_factor = 1e300}).mode_at(start), status::visible);
}

// --- sites where strictness pays: L is 10 ms, and 100 ms are left when the attempt is planned

core::schedule_inputs undisturbed() {
    core::schedule_inputs seen;
    seen.expected = 10ms;
    seen.planned = start;
    return seen;
}

TEST(measured_schedule_test, leaves_an_undisturbed_block_optimistic) {
    auto seen = undisturbed();
    for (const auto left : {11ms, 20ms, 40ms, 60ms}) {
        seen.planned = due - left;
        EXPECT_EQ(make_schedule(due, seen, {}).mode_at(seen.planned), status::active) << left.count();
    }
}

// An attempt that has taken twice the usual time is waiting for other transactions.
TEST(measured_schedule_test, allows_strictness_after_twice_the_usual_time) {
    auto seen = undisturbed();
    seen.planned = due - 50ms;
    EXPECT_EQ(make_schedule(due, seen, {}).mode_at(due - 30ms - 1ns), status::active);
    EXPECT_EQ(make_schedule(due, seen, {}).mode_at(due - 30ms), status::irrevocable);
    const auto plan = make_schedule(due, undisturbed(), {});  // long before the deadline, the paper's times apply
    EXPECT_EQ(plan.visible_from, due - 60ms);
    EXPECT_EQ(plan.irrevocable_from, due - 40ms);
    EXPECT_EQ(plan.latest_start, due - 10ms);
}

TEST(measured_schedule_test, uses_the_paper_after_a_roll_back) {
    auto seen = undisturbed();
    seen.rolled_back = true;
    for (const auto left : {100ms, 50ms, 20ms}) {
        seen.planned = due - left;
        const auto expected = left == 100ms ? status::active : left == 50ms ? status::visible : status::irrevocable;
        EXPECT_EQ(make_schedule(due, seen, {}).mode_at(seen.planned), expected) << left.count();
    }
}

TEST(measured_schedule_test, uses_the_losses_of_the_site_at_first) {
    auto seen = undisturbed();
    seen.planned = due - 35ms;
    seen.rollbacks_per_commit = 1.2;  // L + 2 * 1.2 L = 34 ms
    EXPECT_EQ(make_schedule(due, seen, {}).mode_at(seen.planned), status::active);
    EXPECT_EQ(make_schedule(due, seen, {}).irrevocable_from, due - 34ms);
    seen.rollbacks_per_commit = 1.3;
    EXPECT_EQ(make_schedule(due, seen, {}).mode_at(seen.planned), status::irrevocable);
}

TEST(measured_schedule_test, prefers_measured_durations) {
    auto seen = undisturbed();
    seen.rolled_back = true;
    seen.visible = {.median = 12ms, .expected = 15ms};
    seen.irrevocable = {.median = 4ms, .expected = 5ms};
    const auto plan = make_schedule(due, seen, {});
    EXPECT_EQ(plan.irrevocable_from, due - 25ms);
    EXPECT_EQ(plan.visible_from, due - 45ms);
    EXPECT_EQ(plan.visible_until, due - 12ms);
    EXPECT_EQ(plan.irrevocable_until, due - 4ms);
    EXPECT_EQ(plan.latest_start, due - 10ms);
}

TEST(measured_schedule_test, skips_a_mode_that_would_be_late) {
    auto seen = undisturbed();
    seen.rolled_back = true;
    seen.visible = {.median = 70ms, .expected = 90ms};
    seen.irrevocable = {.median = 120ms, .expected = 120ms};
    const auto plan = make_schedule(due, seen, {});
    EXPECT_EQ(plan.mode_at(start), status::visible);
    EXPECT_EQ(plan.mode_at(due - 70ms), status::visible);
    EXPECT_EQ(plan.mode_at(due - 70ms + 1ns), status::active);
    EXPECT_EQ(plan.too_slow_at(start), status::irrevocable);
    seen.visible.median = 170ms;
    EXPECT_EQ(make_schedule(due, seen, {}).mode_at(start), status::active);
    EXPECT_EQ(make_schedule(due, seen, {}).mode_at(due - 1ns), status::active);
}

TEST(measured_schedule_test, obeys_factors_other_than_the_defaults) {
    auto seen = undisturbed();
    seen.irrevocable = {.median = 1h, .expected = 1h};
    EXPECT_EQ(make_schedule(due, seen, {.visible_factor = 30, .irrevocable_factor = 20}).mode_at(start),
              status::irrevocable);
    seen.rolled_back = true;
    EXPECT_EQ(make_schedule(due, seen, {.visible_factor = 1, .irrevocable_factor = 1}).mode_at(due - 11ms),
              status::active);
}

TEST(measured_schedule_test, survives_extreme_measurements) {
    const core::schedule_inputs seen{.expected = std::chrono::nanoseconds::max(),
                                     .visible = {std::chrono::nanoseconds::max(), std::chrono::nanoseconds::max()},
                                     .irrevocable = {std::chrono::nanoseconds::max(), std::chrono::nanoseconds::max()},
                                     .rollbacks_per_commit = 1e300,
                                     .planned = start};
    EXPECT_EQ(make_schedule(due, seen, {}).irrevocable_from, base::deadline{});
    EXPECT_EQ(make_schedule(base::deadline::max(), core::schedule_inputs{}, {}).mode_at(start), status::active);
    EXPECT_EQ(make_schedule(base::deadline{}, seen, {}).latest_start, base::deadline{});
}

// --- the trial

using core::strictness_trial;

constexpr std::uint32_t window = strictness_trial::window;

/// A site with given rates of missed deadlines. A rate of n means that one execution in n misses its deadline; 0 means
/// that none does.
struct site {
    strictness_trial trial;
    unsigned strict_misses;
    unsigned other_misses;
    bool wanted = true;
    unsigned strict = 0, other = 0, missed = 0;

    void run(std::uint32_t executions) {
        for (std::uint32_t i = 1; i <= executions; ++i) {
            const auto given = trial.enter();
            const unsigned number = ++(given.may_be_strict ? strict : other);
            const unsigned one_in = given.may_be_strict ? strict_misses : other_misses;
            const bool met = one_in == 0 || number % one_in != 0;
            missed += met ? 0 : 1;
            trial.leave(given, met, wanted);
        }
    }
};

TEST(strictness_trial_test, compares_nothing_where_strictness_is_not_wanted) {
    site s{.trial = {}, .strict_misses = 2, .other_misses = 1, .wanted = false};
    s.run(100 * window);
    EXPECT_EQ(s.other, 0u);
}

TEST(strictness_trial_test, ends_strictness_that_misses_more) {
    site s{.trial = {}, .strict_misses = 8, .other_misses = 100};
    s.run(1000 * window);
    // Later trials end as soon as strictness has missed as many deadlines as are usual without it.
    EXPECT_LT(s.strict, 2 * window);
}

TEST(strictness_trial_test, ends_strictness_that_misses_no_fewer) {
    site s{.trial = {}, .strict_misses = 16, .other_misses = 16};
    s.run(100 * window);
    EXPECT_LT(s.strict, 10 * window);
}

TEST(strictness_trial_test, rarely_tries_without_useful_strictness) {
    site s{.trial = {}, .strict_misses = 0, .other_misses = 1};  // without strictness, every deadline is missed
    s.run(1000 * window);
    EXPECT_LT(s.missed, 16u);  // one per trial; the intervals between trials double
    EXPECT_EQ(s.other, s.missed);
}

TEST(strictness_trial_test, never_tries_strictness_where_all_is_met) {
    site s{.trial = {}, .strict_misses = 2, .other_misses = 0};
    s.run(window);
    EXPECT_EQ(s.strict, window);
    s.run(1000 * window);
    EXPECT_EQ(s.strict, window);
}

// A site that has worked without strictness for long begins to need it.
TEST(strictness_trial_test, retries_a_changed_site_soon) {
    site s{.trial = {}, .strict_misses = 8, .other_misses = 100};
    s.run(2000 * window);
    s.strict_misses = 0;
    s.other_misses = 2;
    s.run(window);
    s.strict = s.other = 0;
    s.run(10 * window);
    EXPECT_GT(s.strict, 8 * window);
}

TEST(strictness_trial_test, ignores_executions_of_an_earlier_term) {
    strictness_trial trial;
    const auto early = trial.enter();
    for (std::uint32_t i = 0; i < window; ++i) trial.leave(trial.enter(), true, true);
    const auto now = trial.enter();
    EXPECT_FALSE(now.may_be_strict);
    for (std::uint32_t i = 0; i < 2 * window; ++i) trial.leave(early, false, true);
    EXPECT_EQ(trial.enter().number, now.number);
}

TEST(deadline_type_test, takes_durations_and_points_in_time) {
    EXPECT_FALSE(deadline{}.exists());
    EXPECT_FALSE(deadline{0ms}.exists());
    constexpr deadline soon = 5ms;
    EXPECT_TRUE(soon.exists());
    EXPECT_FALSE(soon.is_absolute());
    EXPECT_EQ(soon.value(), 5'000'000ns);
    const deadline at = std::chrono::steady_clock::time_point{2h};
    EXPECT_TRUE(at.exists());
    EXPECT_TRUE(at.is_absolute());
    EXPECT_EQ(at.value(), 2h);
    EXPECT_LT(deadline{-1ns}.value(), 0ns);
    EXPECT_FALSE(deadline{-1ns}.is_absolute());
    // A duration beyond the representable range counts as infinite, and never becomes a point in time by accident.
    EXPECT_FALSE(deadline{std::chrono::hours::max()}.is_absolute());
    EXPECT_GT(deadline{std::chrono::hours::max()}.value(), 100h * 24 * 365);
    EXPECT_LT(deadline{std::chrono::hours::min()}.value(), 0ns);
    EXPECT_GT(deadline{std::chrono::steady_clock::time_point::max()}.value(), 100h * 24 * 365);
}

TEST(driven_clock_test, stays_unchanged_until_it_is_moved) {
    {
        base::manual_clock clock{start};
        EXPECT_EQ(base::now(), start);
        clock.advance(3ms);
        EXPECT_EQ(base::now(), start + 3ms);
    }
    EXPECT_NE(base::now(), start + 3ms);
}

}  // namespace
}  // namespace tutti::policies
