// Transactions that conflict with a preempted owner: none spins, none deadlocks, and the most urgent one runs first.
// There is one worker, so an awaited context runs only if the worker switches to it.
#include <gtest/gtest.h>

#include "preempt/procedures/busy.hpp"
#include "preempt/procedures/orec_owners.hpp"
#include "preempt/progress.hpp"
#include "preempt/scheduler.hpp"
#include "support/watchdog.hpp"

namespace tutti::preempt {
namespace {

using namespace procedures;

// Catches a job of a higher level that waits for a job of a lower level. The higher job would wait forever, because the
// lower job never continues.
TEST(priority_inheritance_test, lower_owner_starts_over) {
    const support::watchdog dog{"waiting"};
    var<int> x{0};
    orec_owner low{.of = &x, .adds = 1, .ends_at_once = false};
    orec_owner high{.of = &x, .adds = 10};
    scheduler s{{.workers = 1}};
    add_procedures(s);
    ASSERT_TRUE(s.submit({own, &low, 1}));
    wait_for_count(low.attempts, 1);
    ASSERT_TRUE(s.submit({own, &high, 3}));
    wait_until(high.done);
    EXPECT_EQ(high.attempts, 1);
    EXPECT_FALSE(low.done);
    low.go = true;
    s.drain();
    EXPECT_EQ(low.attempts, 2) << "its orec was taken";
    EXPECT_EQ(x.load(), 11);
}

// Priority inversion: the owner has the lowest level, and a job of a middle level runs. The owner is irrevocable, so
// its orec cannot be taken away. Catches a wait whose level is not inherited.
TEST(priority_inheritance_test, owner_inherits_the_level_of_its_waiter) {
    const support::watchdog dog{"waiting"};
    var<int> x{0};
    orec_owner low{.of = &x, .adds = 1, .mode = mode::irrevocable, .ends_at_once = false};
    orec_owner high{.of = &x, .adds = 10};
    spinner between;
    scheduler s{{.workers = 1}};
    add_procedures(s);
    ASSERT_TRUE(s.submit({own, &low, 1}));
    wait_for_count(low.attempts, 1);
    ASSERT_TRUE(s.submit({spin, &between, 2}));
    wait_until(between.started);
    low.go = true;
    ASSERT_TRUE(s.submit({own, &high, 3}));
    wait_until(high.done);
    // The owner inherits the level for its transaction, not for the rest of its job.
    EXPECT_EQ(x.load(), 11) << "while the one between still runs";
    EXPECT_EQ(low.attempts, 1);
    EXPECT_GE(s.statistics().priority_inheritances, 1u);
    between.stop = true;
    s.drain();
    EXPECT_TRUE(low.done);
}

using owner_then_spinner = followed_by_spinner<orec_owner>;
constexpr auto own_then_spin = &run_then_spin<orec_owner, own>;

// After the transaction, the owner loses the inherited level: the middle job runs before the rest of the owner.
TEST(priority_inheritance_test, ends_with_the_transaction) {
    const support::watchdog dog{"waiting"};
    var<int> x{0};
    owner_then_spinner low{{.of = &x, .adds = 1, .mode = mode::irrevocable, .ends_at_once = false}, {}};
    orec_owner high{.of = &x, .adds = 10};
    spinner between;
    scheduler s{{.workers = 1}};
    add_procedures(s);
    ASSERT_TRUE(s.submit({own_then_spin, &low, 1}));
    wait_for_count(low.first.attempts, 1);
    ASSERT_TRUE(s.submit({spin, &between, 2}));
    wait_until(between.started);
    low.first.go = true;
    ASSERT_TRUE(s.submit({own, &high, 3}));
    wait_until(high.done);
    wait_for_progress(between.turns);
    between.stop = true;
    wait_until(low.then.started);
    low.then.stop = true;
    s.drain();
    EXPECT_EQ(x.load(), 11);
}

// Work that is submitted while the owner runs at the inherited level causes no tick. When the inheritance ends, this
// work must cause a tick. The waiter is on the other worker, which is busy with more work, so nothing else makes the
// owner's worker check the queue.
TEST(priority_inheritance_test, yields_afterwards_to_work_that_came_meanwhile) {
    const support::watchdog dog{"waiting"};
    var<int> x{0};
    owner_then_spinner low{{.of = &x, .adds = 1, .mode = mode::irrevocable, .ends_at_once = false}, {}};
    orec_owner waiter{.of = &x, .adds = 10};
    spinner first, busy;
    std::atomic<int> clock{0};
    marker between{&clock};
    scheduler s{{.workers = 2}};
    add_procedures(s);
    ASSERT_TRUE(s.submit({spin, &first, 4}));
    wait_until(first.started);
    ASSERT_TRUE(s.submit({own_then_spin, &low, 1}));
    wait_for_count(low.first.attempts, 1);
    first.stop = true;
    while (s.statistics().finished == 0) std::this_thread::yield();
    ASSERT_TRUE(s.submit({own, &waiter, 3}));
    while (s.statistics().priority_inheritances == 0) std::this_thread::yield();
    ASSERT_TRUE(s.submit({spin, &busy, 5}));
    wait_until(busy.started);
    ASSERT_TRUE(s.submit({mark, &between, 2}));
    low.first.go = true;
    while (between.at == 0) std::this_thread::yield();
    busy.stop = true;
    low.then.stop = true;
    s.drain();
    EXPECT_EQ(x.load(), 11);
}

// A high job has suspended the owner on the first worker. On the second worker, a transaction of the owner's level
// conflicts with the owner. Catches a transaction that spins on its worker: the worker could not run any other work.
TEST(priority_inheritance_test, equal_waiter_leaves_its_worker) {
    const support::watchdog dog{"waiting"};
    var<int> x{0};
    orec_owner first{.of = &x, .adds = 1, .ends_at_once = false};
    orec_owner second{.of = &x, .adds = 10};
    spinner busy, elsewhere;
    std::atomic<int> clock{0};
    marker other{&clock};
    scheduler s{{.workers = 2}};
    add_procedures(s);
    ASSERT_TRUE(s.submit({spin, &elsewhere, 4}));
    wait_until(elsewhere.started);
    ASSERT_TRUE(s.submit({own, &first, 2}));  // so it runs on the other worker
    wait_for_count(first.attempts, 1);
    ASSERT_TRUE(s.submit({spin, &busy, 3}));  // and so does this job
    wait_until(busy.started);
    first.go = true;
    elsewhere.stop = true;
    ASSERT_TRUE(s.submit({own, &second, 2}));
    while (s.statistics().parkings == 0) std::this_thread::yield();
    ASSERT_TRUE(s.submit({mark, &other, 0}));
    while (other.at == 0) std::this_thread::yield();
    EXPECT_FALSE(second.done);
    busy.stop = true;
    s.drain();
    EXPECT_EQ(first.attempts, 1) << "its orec was not taken";
    EXPECT_EQ(x.load(), 11);
}

}  // namespace
}  // namespace tutti::preempt
