// The deadline policy by itself, on times that are given to it, and what users write down as a deadline.
#include "policies/deadline_timetable.hpp"

#include <gtest/gtest.h>

namespace tutti::policies {
namespace {

using namespace std::chrono_literals;
using memory::status;

constexpr base::deadline start{1h};
constexpr base::deadline due = start + 100ms;

TEST(deadline_policy_test, thresholds_are_those_of_the_paper) {
    const auto plan = draw_up(due, 10ms, {});
    EXPECT_EQ(plan.visible_from, due - 60ms);
    EXPECT_EQ(plan.irrevocable_from, due - 40ms);
    EXPECT_EQ(plan.latest_start, due - 10ms);
}

TEST(deadline_policy_test, attempts_become_stricter_with_time) {
    const auto plan = draw_up(due, 10ms, {});
    EXPECT_EQ(plan.mode_at(start), status::active);
    EXPECT_EQ(plan.mode_at(due - 60ms - 1ns), status::active);
    EXPECT_EQ(plan.mode_at(due - 60ms), status::visible);
    EXPECT_EQ(plan.mode_at(due - 40ms - 1ns), status::visible);
    EXPECT_EQ(plan.mode_at(due - 40ms), status::irrevocable);
    EXPECT_EQ(plan.mode_at(due + 1s), status::irrevocable);
    EXPECT_EQ(plan.end_of(status::active), plan.visible_from);
    EXPECT_EQ(plan.end_of(status::visible), plan.irrevocable_from);
    EXPECT_EQ(plan.end_of(status::irrevocable), base::deadline::max());
}

TEST(deadline_policy_test, what_takes_longer_than_there_is_time_cannot_be_met) {
    const auto plan = draw_up(due, 10ms, {});
    EXPECT_FALSE(plan.hopeless_at(due - 10ms, due));
    EXPECT_TRUE(plan.hopeless_at(due - 10ms + 1ns, due));
    EXPECT_TRUE(plan.hopeless_at(due, due));
    EXPECT_TRUE(plan.hopeless_at(due + 1h, due));
}

// Nothing is known about a block that runs for the first time: it is optimistic until its time is up.
TEST(deadline_policy_test, an_unknown_duration_is_no_reason_to_hurry) {
    const auto plan = draw_up(due, 0ns, {});
    EXPECT_EQ(plan.mode_at(due - 1ns), status::active);
    EXPECT_FALSE(plan.hopeless_at(due - 1ns, due));
    EXPECT_TRUE(plan.hopeless_at(due, due));
}

TEST(deadline_policy_test, a_block_that_takes_long_is_strict_from_the_start) {
    EXPECT_EQ(draw_up(due, 20ms, {}).mode_at(start), status::visible);
    EXPECT_EQ(draw_up(due, 30ms, {}).mode_at(start), status::irrevocable);
    EXPECT_FALSE(draw_up(due, 30ms, {}).hopeless_at(start, due));
}

TEST(deadline_policy_test, factors_are_taken) {
    const auto plan = draw_up(due, 10ms, {.visible_factor = 3.5, .irrevocable_factor = 2});
    EXPECT_EQ(plan.visible_from, due - 35ms);
    EXPECT_EQ(plan.irrevocable_from, due - 20ms);
}

TEST(deadline_policy_test, extremes_do_not_overflow) {
    const auto longest = std::chrono::nanoseconds::max();
    EXPECT_EQ(draw_up(due, longest, {}).visible_from, base::deadline{});
    EXPECT_EQ(draw_up(due, longest, {}).latest_start, base::deadline{});
    EXPECT_EQ(draw_up(base::deadline::max(), 1ms, {}).mode_at(start), status::active);
    EXPECT_EQ(draw_up(due, 1ms, {.visible_factor = 1e300}).mode_at(start), status::visible);
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
    // Beyond the representable: for ever, and not by accident a point in time.
    EXPECT_FALSE(deadline{std::chrono::hours::max()}.is_absolute());
    EXPECT_GT(deadline{std::chrono::hours::max()}.value(), 100h * 24 * 365);
    EXPECT_LT(deadline{std::chrono::hours::min()}.value(), 0ns);
    EXPECT_GT(deadline{std::chrono::steady_clock::time_point::max()}.value(), 100h * 24 * 365);
}

TEST(driven_clock_test, stands_still_until_it_is_moved) {
    {
        base::driven_clock clock{start};
        EXPECT_EQ(base::now(), start);
        clock.advance(3ms);
        EXPECT_EQ(base::now(), start + 3ms);
    }
    EXPECT_NE(base::now(), start + 3ms);
}

}  // namespace
}  // namespace tutti::policies
