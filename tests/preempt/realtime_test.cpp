// Workers have a real-time priority while they run urgent work, and at no other time.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

#include "preempt/procedures/exclusive_calls.hpp"
#include "preempt/procedures/orec_owners.hpp"
#include "preempt/progress.hpp"
#include "support/realtime_threads.hpp"
#include "support/watchdog.hpp"

namespace {

std::function<void()> before_it_is_taken;  // the submitting thread calls it once, before setting a real-time priority
std::atomic<int> lowered{0};

}  // namespace

/// Replaces the C library's function.
extern "C" int sched_setscheduler(pid_t thread, int policy, const sched_param* how) noexcept {
    const bool taken = (policy & ~SCHED_RESET_ON_FORK) == SCHED_RR;
    if (taken && before_it_is_taken) std::exchange(before_it_is_taken, nullptr)();
    const long result = ::syscall(SYS_sched_setscheduler, thread, policy, how);
    if (!taken) ++lowered;
    return static_cast<int>(result);
}

namespace tutti::preempt {
namespace {

using namespace procedures;
using names = std::vector<std::string>;

const std::string one = "tutti-worker 1";

class realtime_min_priority_test : public ::testing::Test {
protected:
    void SetUp() override {
        if (!support::may_have_realtime_threads()) GTEST_SKIP() << support::no_realtime_rights;
        // The test's thread has a higher priority than the workers that it observes, because these may occupy all
        // processors.
        ASSERT_EQ(base::set_realtime_priority(0, 2), 0);
    }
    void TearDown() override { base::clear_realtime_priority(0, SCHED_OTHER); }
};

/// Sleeps between checks, because spinning would occupy a processor.
template <class Condition>
void wait_for(Condition&& holds) {
    while (!holds()) std::this_thread::sleep_for(std::chrono::microseconds{100});
}
void wait_for_threads(const names& expected) {
    wait_for([&] { return support::realtime_threads() == expected; });
}

// Catches a worker that gets its priority only when it checks for new work. Catches one that keeps the priority for
// less urgent work, or gets it for such work.
TEST_F(realtime_min_priority_test, lasts_from_arrival_to_end_of_urgent_work) {
    const support::watchdog dog{"scheduler"};
    std::mutex guarded;
    exclusive_call low{.guarded = &guarded};
    spinner urgent, between;
    scheduler s{{.workers = 1, .realtime_min_priority = 3}};
    add_procedures(s);
    ASSERT_TRUE(s.submit({lock_unpreempted, &low, 1}));
    wait_for([&] { return low.inside.load(); });
    EXPECT_EQ(support::realtime_threads(), names{});
    ASSERT_TRUE(s.submit({spin, &between, 2}));
    EXPECT_EQ(support::realtime_threads(), names{}) << "2 is not urgent";
    ASSERT_TRUE(s.submit({spin, &urgent, 3}));
    EXPECT_EQ(support::realtime_threads(), names{one}) << "the urgent call cannot begin yet, and waits for a processor";
    low.go = true;
    wait_for([&] { return urgent.started.load(); });
    EXPECT_EQ(support::realtime_threads(), names{one});
    urgent.stop = true;
    wait_for([&] { return between.started.load(); });
    EXPECT_EQ(support::realtime_threads(), names{});
    between.stop = true;
    s.drain();
}

TEST_F(realtime_min_priority_test, ends_without_work) {
    const support::watchdog dog{"scheduler"};
    spinner urgent;
    scheduler s{{.workers = 2, .realtime_min_priority = 3}};
    add_procedures(s);
    ASSERT_TRUE(s.submit({spin, &urgent, 3}));
    EXPECT_EQ(support::realtime_threads(), names{one}) << "one of two workers has been woken";
    urgent.stop = true;
    wait_for_threads({});
}

// Another worker has taken the urgent work. Catches a worker that keeps its real-time priority for the less urgent work
// with which it continues.
TEST_F(realtime_min_priority_test, ends_if_another_worker_was_faster) {
    const support::watchdog dog{"scheduler"};
    std::mutex guarded;
    followed_by_spinner<exclusive_call> low{.first = {.guarded = &guarded}, .then = {}};
    spinner other, urgent;
    scheduler s{{.workers = 2, .realtime_min_priority = 3}};
    add_procedures(s);
    ASSERT_TRUE(s.submit({run_then_spin<exclusive_call, lock_unpreempted>, &low, 1}));
    wait_for([&] { return low.first.inside.load(); });
    ASSERT_TRUE(s.submit({spin, &other, 2}));
    wait_for([&] { return other.started.load(); });
    ASSERT_TRUE(s.submit({spin, &urgent, 3}));
    EXPECT_EQ(support::realtime_threads(), names{one}) << "the worker with the lowest level has been woken";
    other.stop = true;
    wait_for([&] { return urgent.started.load(); });
    EXPECT_EQ(support::realtime_threads(), (names{one, one}));
    low.first.go = true;
    wait_for([&] { return low.then.started.load(); });
    EXPECT_EQ(support::realtime_threads(), names{one});
    urgent.stop = low.then.stop = true;
    s.drain();
}

// Urgent work waits for a transaction of the lowest level. Catches a worker that runs this transaction at the
// inherited level without the priority, and one that keeps the priority after the inheritance.
TEST_F(realtime_min_priority_test, is_inherited_with_a_level) {
    const support::watchdog dog{"scheduler"};
    var<int> x{0};
    followed_by_spinner<orec_owner> low{
        .first = {.of = &x, .adds = 1, .mode = mode::irrevocable, .ends_at_once = false}, .then = {}};
    orec_owner waiter{.of = &x, .adds = 10};
    spinner first, busy;
    scheduler s{{.workers = 2, .realtime_min_priority = 3}};
    add_procedures(s);
    ASSERT_TRUE(s.submit({spin, &first, 4}));
    wait_for([&] { return first.started.load(); });
    ASSERT_TRUE(s.submit({run_then_spin<orec_owner, own>, &low, 1}));
    wait_for([&] { return low.first.attempts.load() != 0; });
    first.stop = true;
    wait_for_threads({});
    ASSERT_TRUE(s.submit({own, &waiter, 3}));
    wait_for([&] { return s.statistics().priority_inheritances != 0; });
    wait_for_threads({one});  // the owner's worker: the waiter's worker is idle
    ASSERT_TRUE(s.submit({spin, &busy, 5}));
    wait_for([&] { return busy.started.load(); });
    EXPECT_EQ(support::realtime_threads(), (names{one, one}));
    low.first.go = true;
    wait_for([&] { return low.then.started.load(); });
    EXPECT_EQ(support::realtime_threads(), names{one}) << "the worker whose work is more urgent than the waiter";
    busy.stop = low.then.stop = true;
    s.drain();
}

// The submitting thread sets the priority late, when the worker no longer needs it. Catches a thread that does not
// check afterwards whether the priority is still due.
TEST_F(realtime_min_priority_test, ends_although_the_setting_thread_is_late) {
    const support::watchdog dog{"scheduler"};
    spinner low;
    std::atomic<int> clock{0};
    marker urgent{&clock};
    scheduler s{{.workers = 1, .realtime_min_priority = 3}};
    add_procedures(s);
    ASSERT_TRUE(s.submit({spin, &low, 1}));
    wait_for([&] { return low.started.load(); });
    before_it_is_taken = [&] {
        low.stop = true;  // the worker finds the urgent work by itself
        wait_for([&] { return lowered.load() != 0; });
        EXPECT_EQ(urgent.at, 1);
    };
    lowered = 0;
    ASSERT_TRUE(s.submit({mark, &urgent, 3}));
    EXPECT_EQ(before_it_is_taken, nullptr);
    EXPECT_EQ(support::realtime_threads(), names{});
    s.drain();
}

TEST(realtime_permission_test, throws_without_permission) {
    const auto refused = [] {
        if (!support::take_realtime_rights_away()) std::_Exit(2);
        try {
            const scheduler s{{.workers = 1, .realtime_min_priority = 3}};
        } catch (const std::system_error&) {
            std::_Exit(0);
        }
        std::_Exit(1);
    };
    EXPECT_EXIT(refused(), ::testing::ExitedWithCode(0), "");
}

TEST_F(realtime_min_priority_test, refuses_programs_with_a_real_time_priority) {
    const auto refused = [] {
        const sched_param how{.sched_priority = 5};
        if (::sched_setscheduler(0, SCHED_RR, &how) != 0) std::_Exit(2);  // threads inherit the priority
        try {
            const scheduler s{{.workers = 1, .realtime_min_priority = 3}};
        } catch (const std::invalid_argument&) {
            std::_Exit(0);
        }
        std::_Exit(1);
    };
    EXPECT_EXIT(refused(), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace tutti::preempt
