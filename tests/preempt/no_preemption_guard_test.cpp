// Code that must not be interrupted, and signals that are not the scheduler's. Catches a worker that waits forever for
// code that it has interrupted itself. Catches a worker that no tick reaches, and swallowed signals.
#include <gtest/gtest.h>

#include <csignal>

#include "preempt/procedures/exclusive_calls.hpp"
#include "preempt/progress.hpp"
#include "support/watchdog.hpp"
#include "tutti/server/no_preemption_guard.hpp"

namespace tutti::preempt {
namespace {

using namespace procedures;

/// Runs `procedure` as a low job up to its middle, and then submits a high job with the same procedure. There is one
/// worker.
void meet(void (*procedure)(void*) noexcept, std::mutex* guarded) {
    exclusive_call low{.guarded = guarded}, high{.guarded = guarded};
    high.go = true;
    scheduler s{{.workers = 1}};
    add_procedures(s);
    ASSERT_TRUE(s.submit({procedure, &low, 1}));
    wait_until(low.inside);
    ASSERT_TRUE(s.submit({procedure, &high, 3}));
    while (s.statistics().ticks_deferred == 0) std::this_thread::yield();
    EXPECT_FALSE(high.inside);
    low.go = true;
    s.drain();
    EXPECT_TRUE(low.done);
    EXPECT_TRUE(high.done);
    EXPECT_EQ(s.statistics().preemptions, 1u) << "the tick was deferred, and served afterwards";
}

TEST(no_preemption_guard_test, protects_static_initialization) {
    static bool initialized = false;
    if (std::exchange(initialized, true)) GTEST_SKIP() << "once in a process";
    const support::watchdog dog{"no preemption"};
    meet(initialize, nullptr);
}

TEST(no_preemption_guard_test, protects_a_mutex) {
    const support::watchdog dog{"no preemption"};
    std::mutex guarded;
    meet(lock_unpreempted, &guarded);
}

TEST(no_preemption_guard_test, does_nothing_outside_of_a_scheduler) {
    const server::no_preemption_guard here;
    exclusive_call alone;
    std::mutex guarded;
    alone.guarded = &guarded;
    alone.go = true;
    lock_unpreempted(&alone);
    EXPECT_TRUE(alone.done);
}

// Threads inherit blocked signals. The low job makes no transactional step, so only a signal interrupts it.
TEST(tick_signal_test, reaches_workers_of_programs_that_block_it) {
    const support::watchdog dog{"no preemption"};
    sigset_t ticks, before;
    sigemptyset(&ticks);
    sigaddset(&ticks, tick_signal);
    ASSERT_EQ(::pthread_sigmask(SIG_BLOCK, &ticks, &before), 0);
    spinner busy;
    std::atomic<int> clock{0};
    marker high{&clock};
    scheduler s{{.workers = 1}};
    add_procedures(s);
    ASSERT_TRUE(s.submit({spin, &busy, 1}));
    wait_until(busy.started);
    ASSERT_TRUE(s.submit({mark, &high, 2}));
    while (high.at == 0) std::this_thread::yield();
    busy.stop = true;
    s.drain();
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

std::atomic<int> plain{0}, informed{0};

TEST(tick_signal_test, goes_to_the_previous_handler_on_other_threads) {
    struct sigaction own{}, before{};
    own.sa_handler = [](int) { ++plain; };
    ::sigaction(tick_signal, &own, &before);
    {
        const scheduler s{{.workers = 1}};
        std::raise(tick_signal);
        EXPECT_EQ(plain, 1);
    }
    own.sa_sigaction = [](int, siginfo_t* about, void*) { informed += about->si_signo == tick_signal ? 1 : 0; };
    own.sa_flags = SA_SIGINFO;
    ::sigaction(tick_signal, &own, nullptr);
    {
        const scheduler s{{.workers = 1}};
        std::raise(tick_signal);
        EXPECT_EQ(informed, 1);
    }
    ::sigaction(tick_signal, &before, nullptr);
    const scheduler s{{.workers = 1}};
    std::raise(tick_signal);  // ignored, as before
    EXPECT_EQ(plain + informed, 2);
}

}  // namespace
}  // namespace tutti::preempt
