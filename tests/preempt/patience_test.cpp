// What is patient waits for the end of what is brief, and not for ever.
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

// Of ticks that are sent for something; those of a period come in any case.
class patience_with_what_is_brief : public of_each_source {
protected:
    /// Hands it in as brief, until it runs.
    static void keep_busy(scheduler& s, spinner& with) {
        ASSERT_TRUE(s.submit({.run = spin, .argument = &with, .priority = 2, .brief = true}));
        wait_until(with.started);
    }
    static void wait_patiently(scheduler& s, marker& m) {
        ASSERT_TRUE(s.submit({.run = mark, .argument = &m, .priority = 3, .patient = true}));
    }
    /// The same as something that lasts, and is of no urgency.
    static void keep_busy_for_long(scheduler& s, spinner& with) {
        ASSERT_TRUE(s.submit({.run = spin, .argument = &with, .priority = 1}));
        wait_until(with.started);
    }
    static void expect_no_tick(scheduler& s) {
        EXPECT_FALSE(s.spares());
        const counts c = s.statistics();
        EXPECT_EQ(c.signals + c.redirections, 0u);
    }
};

// Catches a tick for something patient, one that never comes, and one that comes at the first look.
TEST_P(patience_with_what_is_brief, ends_when_that_is_late) {
    const support::watchdog dog{"scheduler"};
    spinner busy;
    std::atomic<int> clock{0};
    marker patient{&clock}, urgent{&clock};
    scheduler s{{.workers = 1, .ticks = GetParam()}};
    add_procedures(s);
    keep_busy(s, busy);
    wait_patiently(s, patient);
    for (int i = 0; i < 10; ++i) wait_for_progress(busy.turns);
    EXPECT_TRUE(s.spares());
    s.tick_the_late();
    for (int i = 0; i < 10; ++i) wait_for_progress(busy.turns);
    EXPECT_EQ(patient.at, 0);
    EXPECT_TRUE(s.spares());
    s.tick_the_late();
    while (patient.at == 0) std::this_thread::yield();
    EXPECT_FALSE(s.spares());
    wait_for_progress(busy.turns);
    ASSERT_TRUE(s.submit({.run = mark, .argument = &urgent, .priority = 3}));
    while (urgent.at == 0) std::this_thread::yield();
    EXPECT_EQ(s.statistics().preemptions, 2u);
    busy.stop = true;
    s.drain();
}

// What is brief ends, and the worker finds by itself what has waited.
TEST_P(patience_with_what_is_brief, costs_no_tick) {
    const support::watchdog dog{"scheduler"};
    spinner busy;
    std::atomic<int> clock{0};
    marker patient{&clock};
    scheduler s{{.workers = 1, .ticks = GetParam()}};
    add_procedures(s);
    keep_busy(s, busy);
    wait_patiently(s, patient);
    s.tick_the_late();
    busy.stop = true;
    s.drain();
    EXPECT_EQ(patient.at, 1);
    s.tick_the_late();
    expect_no_tick(s);
}

// Catches a tick for what another worker has taken meanwhile.
TEST_P(patience_with_what_is_brief, is_over_when_another_worker_comes) {
    const support::watchdog dog{"scheduler"};
    spinner spared, other;
    std::atomic<int> clock{0};
    marker patient{&clock};
    scheduler s{{.workers = 2, .ticks = GetParam()}};
    add_procedures(s);
    keep_busy(s, spared);
    keep_busy(s, other);
    wait_patiently(s, patient);
    other.stop = true;
    while (patient.at == 0) std::this_thread::yield();
    s.tick_the_late();
    s.tick_the_late();
    for (int i = 0; i < 10; ++i) wait_for_progress(spared.turns);
    expect_no_tick(s);
    spared.stop = true;
    s.drain();
}

// Catches a tick for the least urgent although another worker, whatever it runs, is free soon.
TEST_P(patience_with_what_is_brief, holds_while_any_worker_is_free_soon) {
    const support::watchdog dog{"scheduler"};
    spinner lasting, brief;
    std::atomic<int> clock{0};
    std::array<marker, 4> patient{marker{&clock}, marker{&clock}, marker{&clock}, marker{&clock}};
    scheduler s{{.workers = 2, .ticks = GetParam()}};
    add_procedures(s);
    keep_busy_for_long(s, lasting);
    keep_busy(s, brief);
    for (marker& m : patient) wait_patiently(s, m);
    s.tick_the_late();
    for (int i = 0; i < 10; ++i) wait_for_progress(lasting.turns);
    EXPECT_EQ(clock, 0);
    brief.stop = true;
    while (clock != 4) std::this_thread::yield();
    s.tick_the_late();
    for (int i = 0; i < 10; ++i) wait_for_progress(lasting.turns);
    expect_no_tick(s);
    lasting.stop = true;
    s.drain();
}

// Catches a worker that is found late because it was spared for something that another one has taken long ago, so that
// it is interrupted for what has just come.
TEST_P(patience_with_what_is_brief, is_with_each_that_waits) {
    const support::watchdog dog{"scheduler"};
    spinner spared, other, third;
    std::atomic<int> clock{0};
    marker earlier{&clock}, later{&clock};
    scheduler s{{.workers = 2, .ticks = GetParam()}};
    add_procedures(s);
    keep_busy(s, spared);
    keep_busy(s, other);
    wait_patiently(s, earlier);
    s.tick_the_late();
    other.stop = true;
    while (earlier.at == 0) std::this_thread::yield();
    keep_busy(s, third);
    wait_patiently(s, later);
    s.tick_the_late();
    for (int i = 0; i < 10; ++i) wait_for_progress(spared.turns);
    EXPECT_EQ(later.at, 0);
    EXPECT_EQ(s.statistics().signals + s.statistics().redirections, 0u);
    spared.stop = third.stop = true;
    s.drain();
}

// Catches what waits for ever for the end of something as urgent that was thought to be brief.
TEST_P(patience_with_what_is_brief, ends_at_the_cost_of_the_least_urgent) {
    const support::watchdog dog{"scheduler"};
    spinner lasting, brief;
    std::atomic<int> clock{0};
    marker patient{&clock};
    scheduler s{{.workers = 2, .ticks = GetParam()}};
    add_procedures(s);
    keep_busy_for_long(s, lasting);
    ASSERT_TRUE(s.submit({.run = spin, .argument = &brief, .priority = 3, .brief = true}));
    wait_until(brief.started);
    wait_patiently(s, patient);
    s.tick_the_late();
    EXPECT_TRUE(s.spares());
    EXPECT_EQ(patient.at, 0);
    s.tick_the_late();
    while (patient.at == 0) std::this_thread::yield();
    wait_for_progress(lasting.turns);
    EXPECT_EQ(s.statistics().preemptions, 1u);
    lasting.stop = brief.stop = true;
    s.drain();
}

INSTANTIATE_TEST_SUITE_P(sources, patience_with_what_is_brief, ::testing::Values("kernel", "on-demand"));

}  // namespace
}  // namespace tutti::preempt
