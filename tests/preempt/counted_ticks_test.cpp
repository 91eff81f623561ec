// A counted number of ticks. Each interrupts a procedure that keeps a value in every part of a thread's state, and then
// another procedure changes all of that state. `./dev kernel torture` runs a million ticks from the kernel module.
//
// Catches an entry or a switch that loses any state: registers, vectors to their last bit, flags, rounding, the red
// zone, errno.
#include <gtest/gtest.h>

#include <cstdio>
#include <thread>

#include "preempt/procedures/single_stepped.hpp"
#include "preempt/procedures/state_checker.hpp"
#include "preempt/progress.hpp"
#include "support/effort.hpp"
#include "support/watchdog.hpp"

namespace tutti::preempt {
namespace {

using namespace procedures;

class counted_ticks_test : public of_each_source {};

TEST_P(counted_ticks_test, leave_no_trace) {
    if (!can_check_state()) GTEST_SKIP() << "this processor has no AVX2";
    const support::watchdog dog{"counted ticks"};
    // On a busy processor, each tick takes two time slices.
    const bool in_guest = GetParam() == std::string_view{"kernel"};
    const std::uint64_t ticks = support::rounds(in_guest ? 2000 : 500);
    var<long> disturbed{0};
    state_checker low;
    scheduler s{{.workers = 1, .tick_source = GetParam()}};
    add_procedures(s);
    ASSERT_TRUE(s.submit({check_state, &low, 1}));
    long submitted = 0;
    while (s.statistics().preemptions < ticks) {
        wait_for_progress(low.turns);
        ASSERT_TRUE(s.submit({disturb, &disturbed, 5}));
        ++submitted;
        dog.progress();
    }
    low.stop = true;
    s.drain();
    const counts c = s.statistics();
    EXPECT_EQ(low.damage, 0u);
    EXPECT_EQ(low.error, 42);
    EXPECT_EQ(disturbed.load(), submitted);
    std::printf("%llu ticks of the source %s, %llu of them from the kernel module, in %llu rounds\n",
                static_cast<unsigned long long>(c.preemptions), GetParam(),
                static_cast<unsigned long long>(c.ticks_by_kernel), static_cast<unsigned long long>(low.turns.load()));
    EXPECT_EQ(c.ticks_by_kernel >= ticks, in_guest);
}

INSTANTIATE_TEST_SUITE_P(sources, counted_ticks_test, ::testing::Values("kernel", "on-demand"));

}  // namespace
}  // namespace tutti::preempt
