// Patient work waits for the end of a short job, but not forever.
#include <gtest/gtest.h>

#include <array>
#include <thread>

#include "preempt/procedures/busy.hpp"
#include "preempt/progress.hpp"
#include "preempt/scheduler.hpp"
#include "support/watchdog.hpp"

namespace tutti::preempt {
namespace {

using namespace procedures;

// The suite runs with tick sources that send a tick only for a reason. Periodic ticks come in any case.
class short_calls_test : public of_each_source {
protected:
    /// Submits the spinner as short work, and waits until it runs.
    static void keep_busy(scheduler& s, spinner& with) {
        ASSERT_TRUE(s.submit({.run = spin, .argument = &with, .priority = 2, .is_short = true}));
        wait_until(with.started);
    }
    static void wait_patiently(scheduler& s, marker& m) {
        ASSERT_TRUE(s.submit({.run = mark, .argument = &m, .priority = 3, .is_patient = true}));
    }
    /// Submits the spinner as work that lasts long and is not urgent, and waits until the spinner runs.
    static void keep_busy_for_long(scheduler& s, spinner& with) {
        ASSERT_TRUE(s.submit({.run = spin, .argument = &with, .priority = 1}));
        wait_until(with.started);
    }
    static void expect_no_tick(scheduler& s) {
        EXPECT_FALSE(s.has_skipped_workers());
        const counts c = s.statistics();
        EXPECT_EQ(c.ticks_by_signal + c.ticks_by_kernel, 0u);
    }
};

// Catches a tick for patient work, a tick that never comes, and a tick at the first check.
TEST_P(short_calls_test, preempts_an_overdue_short_call) {
    const support::watchdog dog{"scheduler"};
    spinner busy;
    std::atomic<int> clock{0};
    marker patient{&clock}, urgent{&clock};
    scheduler s{{.workers = 1, .tick_source = GetParam()}};
    add_procedures(s);
    keep_busy(s, busy);
    wait_patiently(s, patient);
    for (int i = 0; i < 10; ++i) wait_for_progress(busy.turns);
    EXPECT_TRUE(s.has_skipped_workers());
    s.tick_overdue();
    for (int i = 0; i < 10; ++i) wait_for_progress(busy.turns);
    EXPECT_EQ(patient.at, 0);
    EXPECT_TRUE(s.has_skipped_workers());
    s.tick_overdue();
    while (patient.at == 0) std::this_thread::yield();
    EXPECT_FALSE(s.has_skipped_workers());
    wait_for_progress(busy.turns);
    ASSERT_TRUE(s.submit({.run = mark, .argument = &urgent, .priority = 3}));
    while (urgent.at == 0) std::this_thread::yield();
    EXPECT_EQ(s.statistics().preemptions, 2u);
    busy.stop = true;
    s.drain();
}

// The short job ends, and the worker finds the waiting work by itself.
TEST_P(short_calls_test, patient_work_sends_no_tick) {
    const support::watchdog dog{"scheduler"};
    spinner busy;
    std::atomic<int> clock{0};
    marker patient{&clock};
    scheduler s{{.workers = 1, .tick_source = GetParam()}};
    add_procedures(s);
    keep_busy(s, busy);
    wait_patiently(s, patient);
    s.tick_overdue();
    busy.stop = true;
    s.drain();
    EXPECT_EQ(patient.at, 1);
    s.tick_overdue();
    expect_no_tick(s);
}

// Catches a tick for work that another worker has taken meanwhile.
TEST_P(short_calls_test, stops_waiting_when_another_worker_comes) {
    const support::watchdog dog{"scheduler"};
    spinner skipped, other;
    std::atomic<int> clock{0};
    marker patient{&clock};
    scheduler s{{.workers = 2, .tick_source = GetParam()}};
    add_procedures(s);
    keep_busy(s, skipped);
    keep_busy(s, other);
    wait_patiently(s, patient);
    other.stop = true;
    while (patient.at == 0) std::this_thread::yield();
    s.tick_overdue();
    s.tick_overdue();
    for (int i = 0; i < 10; ++i) wait_for_progress(skipped.turns);
    expect_no_tick(s);
    skipped.stop = true;
    s.drain();
}

// Catches a tick for the least urgent job although another worker, whatever it runs, will soon be free.
TEST_P(short_calls_test, patient_work_waits_for_any_short_call) {
    const support::watchdog dog{"scheduler"};
    spinner lasting, short_call;
    std::atomic<int> clock{0};
    std::array<marker, 4> patient{marker{&clock}, marker{&clock}, marker{&clock}, marker{&clock}};
    scheduler s{{.workers = 2, .tick_source = GetParam()}};
    add_procedures(s);
    keep_busy_for_long(s, lasting);
    keep_busy(s, short_call);
    for (marker& m : patient) wait_patiently(s, m);
    s.tick_overdue();
    for (int i = 0; i < 10; ++i) wait_for_progress(lasting.turns);
    EXPECT_EQ(clock, 0);
    short_call.stop = true;
    while (clock != 4) std::this_thread::yield();
    s.tick_overdue();
    for (int i = 0; i < 10; ++i) wait_for_progress(lasting.turns);
    expect_no_tick(s);
    lasting.stop = true;
    s.drain();
}

// Catches a worker that counts as overdue because it was skipped for a job that another worker took long ago. Such a
// worker would be interrupted for a job that has just come.
TEST_P(short_calls_test, every_patient_call_waits) {
    const support::watchdog dog{"scheduler"};
    spinner skipped, other, third;
    std::atomic<int> clock{0};
    marker earlier{&clock}, later{&clock};
    scheduler s{{.workers = 2, .tick_source = GetParam()}};
    add_procedures(s);
    keep_busy(s, skipped);
    keep_busy(s, other);
    wait_patiently(s, earlier);
    s.tick_overdue();
    other.stop = true;
    while (earlier.at == 0) std::this_thread::yield();
    keep_busy(s, third);
    wait_patiently(s, later);
    s.tick_overdue();
    for (int i = 0; i < 10; ++i) wait_for_progress(skipped.turns);
    EXPECT_EQ(later.at, 0);
    EXPECT_EQ(s.statistics().ticks_by_signal + s.statistics().ticks_by_kernel, 0u);
    skipped.stop = third.stop = true;
    s.drain();
}

// Catches work that waits forever for the end of an equally urgent job that was expected to be short.
TEST_P(short_calls_test, overdue_work_preempts_the_least_urgent) {
    const support::watchdog dog{"scheduler"};
    spinner lasting, short_call;
    std::atomic<int> clock{0};
    marker patient{&clock};
    scheduler s{{.workers = 2, .tick_source = GetParam()}};
    add_procedures(s);
    keep_busy_for_long(s, lasting);
    ASSERT_TRUE(s.submit({.run = spin, .argument = &short_call, .priority = 3, .is_short = true}));
    wait_until(short_call.started);
    wait_patiently(s, patient);
    s.tick_overdue();
    EXPECT_TRUE(s.has_skipped_workers());
    EXPECT_EQ(patient.at, 0);
    s.tick_overdue();
    while (patient.at == 0) std::this_thread::yield();
    wait_for_progress(lasting.turns);
    EXPECT_EQ(s.statistics().preemptions, 1u);
    lasting.stop = short_call.stop = true;
    s.drain();
}

INSTANTIATE_TEST_SUITE_P(sources, short_calls_test, ::testing::Values("kernel", "on-demand"));

}  // namespace
}  // namespace tutti::preempt
