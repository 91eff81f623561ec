// A short procedure is preempted at each of its instructions, one after another. The processor traps after every
// instruction. The handler submits work of a higher level, which runs before the handler returns. (Traps in library
// code submit nothing: that code must not be preempted.)
//
// Catches a switch that loses a register, a vector, the red zone, errno, or an exception in flight.
#include <gtest/gtest.h>
#include <ucontext.h>

#include <algorithm>
#include <csignal>

#include "preempt/procedures/single_stepped.hpp"
#include "preempt/progress.hpp"
#include "support/effort.hpp"
#include "support/watchdog.hpp"

namespace tutti::preempt {
namespace {

using namespace procedures;

scheduler* the_scheduler = nullptr;
var<long>* disturbed = nullptr;
std::atomic<long> points{0};  // traps in the application, where it was preempted
std::atomic<long> passed{0};  // traps outside of it

void on_trap(int, siginfo_t*, void* interrupted) {
    const int error = errno;
    const auto& registers = static_cast<const ucontext_t*>(interrupted)->uc_mcontext.gregs;
    const bool application = the_scheduler->application().contains(static_cast<std::uintptr_t>(registers[REG_RIP]));
    // Like a tick, the handler does not preempt in a critical region. An instruction of an inlined barrier may be
    // inside such a region.
    if (application && core::descriptor::of(*detail::current_transaction).critical_depth.load() == 0) {
        if (!the_scheduler->submit({disturb, disturbed, 5})) std::abort();
        points.fetch_add(1);
    } else {
        passed.fetch_add(1);
    }
    errno = error;
}

void preempt_everywhere(int turns) {
    const support::watchdog dog{"every instruction"};
    points = passed = 0;
    struct sigaction trap{}, before{};
    trap.sa_sigaction = on_trap;
    trap.sa_flags = SA_SIGINFO | SA_NODEFER;
    ASSERT_EQ(::sigaction(SIGTRAP, &trap, &before), 0);
    var<long> own{0}, others{0};
    single_stepped s{&own, 12345, turns}, expected{&own, 12345, turns};
    scheduler run{{.workers = 1}};
    add_procedures(run);
    ASSERT_TRUE(run.submit({run_without_steps, &expected, 1}));
    run.drain();
    the_scheduler = &run;
    disturbed = &others;
    ASSERT_TRUE(run.submit({run_stepped, &s, 1}));
    run.drain();
    EXPECT_EQ(s.result, expected.result);
    EXPECT_EQ(s.error, expected.error);
    EXPECT_TRUE(s.caught);
    EXPECT_TRUE(s.got_mutex);
    EXPECT_EQ(run.statistics().preemptions, static_cast<std::uint64_t>(points));
    EXPECT_EQ(others.load(), points);
    EXPECT_EQ(own.load(), 2);
    ::sigaction(SIGTRAP, &before, nullptr);
}

TEST(every_instruction, may_be_preempted_without_a_trace) {
    preempt_everywhere(1);
    EXPECT_GT(points, 200);
    EXPECT_GT(passed, 200);
}

// Hundreds of thousands of instructions. The test requires this number even under sanitizers, which execute more
// instructions per run, so it does not use rounds(). It has several parts, each with a time limit of its own. Guests
// emulate each trap, and do a dozen runs.
class one_of_four_parts : public ::testing::TestWithParam<int> {};

TEST_P(one_of_four_parts, may_be_preempted_tens_of_thousands_of_times) {
    const double share = std::min(1.0, support::effort());
    long all = 0;
    while (static_cast<double>(all) < 50'000 * share) {
        preempt_everywhere(static_cast<int>(250 * share));
        ASSERT_GT(points, 200);
        all += points;
    }
}

INSTANTIATE_TEST_SUITE_P(every_instruction, one_of_four_parts, ::testing::Range(0, 4));

}  // namespace
}  // namespace tutti::preempt
