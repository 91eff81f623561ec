// The watchdog of the tests ends a test without progress, and does not disturb a slow one.
#include "support/watchdog.hpp"

#include <gtest/gtest.h>

namespace tutti::support {
namespace {

TEST(watchdog, a_test_that_reports_rounds_is_not_stalled) {
    stall_detector detector;
    EXPECT_FALSE(detector.is_stalled(1));
    EXPECT_FALSE(detector.is_stalled(5));
    EXPECT_TRUE(detector.is_stalled(5)) << "the limit passed without a round";
    EXPECT_FALSE(detector.is_stalled(6));
}

TEST(watchdog, a_test_that_reports_nothing_is_stalled) {
    stall_detector detector;
    EXPECT_TRUE(detector.is_stalled(0));
}

void hang() {
    const watchdog dog("the test", std::chrono::seconds{0});
    for (;;) ::pause();
}

TEST(watchdog_death, a_test_that_hangs_ends_with_a_report) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(hang(), "the test has made no progress");
}

}  // namespace
}  // namespace tutti::support
