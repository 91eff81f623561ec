// Workers, ticks and preemption, end to end. Only the procedures' shared object may be preempted.
#include "preempt/scheduler.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <deque>
#include <thread>

#include "preempt/procedures/accounts.hpp"
#include "preempt/procedures/busy.hpp"
#include "preempt/procedures/orec_owners.hpp"
#include "preempt/progress.hpp"
#include "support/effort.hpp"
#include "support/watchdog.hpp"

namespace tutti::preempt {
namespace {

using namespace procedures;

TEST(scheduler_test, runs_all_accepted_work) {
    const support::watchdog dog{"scheduler"};
    std::atomic<int> clock{0};
    std::deque<marker> marks;
    scheduler s{{.workers = 2, .contexts = 8, .max_waiting = 100}};
    const std::size_t count = support::rounds(5000);
    std::size_t accepted = 0;
    for (std::size_t i = 0; i < count; ++i) {
        marker& m = marks.emplace_back(&clock);
        while (!s.submit({mark, &m, static_cast<unsigned>(i % 6)})) std::this_thread::yield();
        ++accepted;
    }
    s.drain();
    EXPECT_EQ(clock.load(), static_cast<int>(accepted));
    for (const marker& m : marks) EXPECT_NE(m.at.load(), 0);
    const counts c = s.statistics();
    EXPECT_EQ(c.finished, count);
    EXPECT_EQ(c.unstarted + c.active + c.parked + c.without_context, 0u);
}

// Catches a submission of several levels that wakes workers only for the highest one.
TEST(scheduler_test, wakes_workers_for_each_level_of_a_batch) {
    const support::watchdog dog{"scheduler"};
    spinner high, low;
    scheduler s{{.workers = 2, .contexts = 4}};
    work both[] = {{spin, &low, 1}, {spin, &high, 5}};
    ASSERT_TRUE(s.submit(std::span{both}).empty());
    wait_until(high.started);
    wait_until(low.started);
    high.stop = low.stop = true;
    s.drain();
}

TEST(scheduler_test, refuses_work_when_full) {
    const support::watchdog dog{"scheduler"};
    spinner busy;
    std::atomic<int> clock{0};
    marker m[4] = {{&clock}, {&clock}, {&clock}, {&clock}};
    scheduler s{{.workers = 1, .contexts = 2, .max_waiting = 2}};
    ASSERT_TRUE(s.submit({spin, &busy, 5}));
    wait_until(busy.started);
    EXPECT_TRUE(s.submit({mark, &m[0], 1}));   // the second context
    EXPECT_TRUE(s.submit({mark, &m[1], 1}));   // the admission queue
    EXPECT_FALSE(s.submit({mark, &m[2], 5}));  // no room
    busy.stop = true;
    s.drain();
    EXPECT_EQ(clock.load(), 2);
    EXPECT_TRUE(s.submit({mark, &m[3], 1}));
    s.stop();
    EXPECT_EQ(clock.load(), 3);
    EXPECT_FALSE(s.submit({mark, &m[2], 5})) << "it has stopped";
    EXPECT_EQ(s.statistics().refused, 2u);
}

// One worker, no ticks: the worker chooses ready work by level, deadline and arrival.
TEST(scheduler_test, chooses_by_level_then_deadline_then_arrival) {
    const support::watchdog dog{"scheduler"};
    spinner busy;
    std::atomic<int> clock{0};
    std::deque<marker> m;
    for (int i = 0; i < 5; ++i) m.emplace_back(&clock);
    scheduler s{{.workers = 1, .tick_source = "none"}};
    ASSERT_TRUE(s.submit({spin, &busy, 1}));
    wait_until(busy.started);
    const auto now = base::now();
    ASSERT_TRUE(s.submit({mark, &m[0], 1}));
    ASSERT_TRUE(s.submit({mark, &m[1], 3}));
    ASSERT_TRUE(s.submit({mark, &m[2], 3, now + std::chrono::seconds{9}}));
    ASSERT_TRUE(s.submit({mark, &m[3], 3, now + std::chrono::seconds{5}}));
    ASSERT_TRUE(s.submit({mark, &m[4], 4}));
    busy.stop = true;
    s.drain();
    EXPECT_EQ(m[4].at, 1);
    EXPECT_EQ(m[3].at, 2);
    EXPECT_EQ(m[2].at, 3);
    EXPECT_EQ(m[1].at, 4);
    EXPECT_EQ(m[0].at, 5);
}

// The time limit of the parked job has passed, so a tick would find work. Catches a handler that switches the sender of
// the signal, in a scheduler that skips critical regions.
TEST(scheduler_test, ignores_foreign_signals_without_ticks) {
    sigset_t tick, before;
    ::sigemptyset(&tick);
    ::sigaddset(&tick, tick_signal);
    ::pthread_sigmask(SIG_BLOCK, &tick, &before);  // so that the signal reaches the worker, which accepts it
    {
        const support::watchdog dog{"scheduler"};
        var<int> x{0};
        constexpr std::chrono::milliseconds timeout{50};
        consumer late{&x, timeout};
        spinner busy;
        scheduler s{{.workers = 1, .tick_source = "none"}};
        add_procedures(s);
        ASSERT_TRUE(s.submit({consume, &late, 3}));
        while (s.statistics().parked == 0 && !late.done) std::this_thread::yield();
        ASSERT_TRUE(s.submit({spin, &busy, 1}));
        wait_until(busy.started);
        const bool was_first = late.done;  // possible on a busy machine: then this run shows nothing
        const auto until = base::now() + timeout;
        while (base::now() < until) {
            ::kill(::getpid(), tick_signal);
            std::this_thread::yield();
        }
        EXPECT_EQ(late.done, was_first);
        busy.stop = true;
        s.drain();
    }
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

class ticking : public of_each_source {};

// The low job never ends by itself, so only preemption lets the high one run. A low job never preempts.
TEST_P(ticking, runs_a_higher_level_on_a_busy_worker) {
    const support::watchdog dog{"scheduler"};
    spinner busy;
    std::atomic<int> clock{0};
    marker equal{&clock}, high{&clock};
    scheduler s{{.workers = 1, .tick_source = GetParam()}};
    add_procedures(s);
    ASSERT_TRUE(s.submit({spin, &busy, 2}));
    wait_until(busy.started);
    ASSERT_TRUE(s.submit({mark, &equal, 2}));
    ASSERT_TRUE(s.submit({mark, &high, 3}));
    while (high.at == 0) std::this_thread::yield();
    EXPECT_EQ(equal.at, 0);
    wait_for_progress(busy.turns);  // it was resumed
    busy.stop = true;
    s.drain();
    EXPECT_EQ(equal.at, 2);
    const counts c = s.statistics();
    EXPECT_EQ(c.preemptions, 1u);
    EXPECT_EQ(c.ticks_by_kernel > 0, GetParam() == std::string_view{"kernel"});
    EXPECT_EQ(c.ticks_by_signal == 0, c.ticks_by_kernel > 0) << "the kernel needs none";
}

// Catches a tick that switches wherever it finds the worker.
TEST_P(ticking, never_preempts_unregistered_code) {
    const support::watchdog dog{"scheduler"};
    spinner busy;
    std::atomic<int> clock{0};
    marker high{&clock};
    scheduler s{{.workers = 1, .tick_source = GetParam()}};
    ASSERT_TRUE(s.submit({spin, &busy, 2}));
    wait_until(busy.started);
    ASSERT_TRUE(s.submit({mark, &high, 3}));
    while (s.statistics().ticks_deferred < 3) std::this_thread::yield();  // a tick repeats until it is served
    EXPECT_EQ(high.at, 0);
    busy.stop = true;
    s.drain();
    EXPECT_EQ(s.statistics().preemptions, 0u);
    EXPECT_EQ(high.at, 1);
}

// The kernel restarts an interrupted sleep, with some slack, so faster ticks never let it end. Catches such ticks: at a
// distance of 20 us there are thousands, and a sleep under periodic ticks never ends.
TEST_P(ticking, wakes_sleepers_in_library_code) {
    const support::watchdog dog{"scheduler"};
    struct sleeper {
        std::atomic<bool> asleep{false};
        static void run(void* of) noexcept {
            auto& me = *static_cast<sleeper*>(of);
            me.asleep = true;
            std::this_thread::sleep_for(std::chrono::milliseconds{100});
        }
    } low;
    std::atomic<int> clock{0};
    marker high{&clock};
    scheduler s{{.workers = 1, .tick_source = GetParam()}};
    add_procedures(s);
    ASSERT_TRUE(s.submit({sleeper::run, &low, 2}));
    wait_until(low.asleep);
    const auto began = base::now();
    ASSERT_TRUE(s.submit({mark, &high, 3}));
    s.drain();
    const auto ticks_at_most = 200 + (base::now() - began) / std::chrono::milliseconds{1};
    EXPECT_EQ(high.at, 1);
    EXPECT_LT(static_cast<std::int64_t>(s.statistics().ticks_by_signal), ticks_at_most);
}

// Catches a tick for each job of a batch. The worker would begin all four jobs, and each job would interrupt the
// previous one.
TEST_P(ticking, preempts_once_for_a_batch) {
    const support::watchdog dog{"scheduler"};
    spinner busy;
    scheduler s{{.workers = 1, .tick_source = GetParam()}};
    add_procedures(s);
    ASSERT_TRUE(s.submit({spin, &busy, 1}));
    wait_until(busy.started);
    const std::size_t waves = support::rounds(200);
    for (std::size_t i = 0; i < waves; ++i) {
        wait_for_progress(busy.turns);
        std::atomic<int> clock{0};
        marker m[4] = {{&clock}, {&clock}, {&clock}, {&clock}};
        work batch[] = {{mark, &m[0], 2}, {mark, &m[1], 3}, {mark, &m[2], 4}, {mark, &m[3], 5}};
        ASSERT_TRUE(s.submit(batch).empty());
        while (m[0].at == 0) std::this_thread::yield();
        for (int k = 0; k < 4; ++k) ASSERT_EQ(m[k].at, 4 - k) << "wave " << i;
        ASSERT_EQ(s.statistics().preemptions, i + 1);
        dog.progress();
    }
    busy.stop = true;
    s.drain();
}

// Jobs that have not begun exhaust the pool of contexts. Catches a scheduler in which such jobs delay urgent work.
// Catches a scheduler that forgets from which job it has taken a context, or that changes that job's place in the
// queue.
TEST_P(ticking, preempts_while_many_calls_are_unstarted) {
    const support::watchdog dog{"scheduler"};
    spinner busy;
    std::atomic<int> clock{0};
    std::deque<marker> unstarted;
    marker high{&clock};
    scheduler s{{.workers = 1, .contexts = 4, .tick_source = GetParam()}};
    add_procedures(s);
    ASSERT_TRUE(s.submit({spin, &busy, 2}));
    wait_until(busy.started);
    for (int i = 0; i < 8; ++i) ASSERT_TRUE(s.submit({mark, &unstarted.emplace_back(&clock), 1}));
    EXPECT_EQ(s.statistics().unstarted_by_level[1], 8u);
    ASSERT_TRUE(s.submit({mark, &high, 3}));
    while (high.at == 0) std::this_thread::yield();
    EXPECT_EQ(s.statistics().unstarted_by_level[1], 8u);
    busy.stop = true;
    s.drain();
    for (int i = 0; i < 8; ++i) EXPECT_EQ(unstarted[static_cast<std::size_t>(i)].at, i + 2);
}

// Every wave preempts the context that never ends. The test first waits until that context makes progress, so the wave
// finds it on the processor.
TEST_P(ticking, registers_errno_and_exceptions_survive) {
    const support::watchdog dog{"scheduler"};
    scheduler s{{.workers = 1, .tick_source = GetParam(), .timing = {.period = std::chrono::microseconds{50}}}};
    add_procedures(s);
    std::atomic<bool> stop{false};
    keeper low{&stop, 1};
    ASSERT_TRUE(s.submit({keep, &low, 1}));
    std::deque<keeper> high;
    const std::size_t waves = support::rounds(100);
    for (std::size_t i = 0; i < waves; ++i) {
        wait_for_progress(low.turns);
        keeper& k = high.emplace_back(nullptr, i + 2);
        ASSERT_TRUE(s.submit({keep, &k, 2 + static_cast<unsigned>(i % 4)}));
        wait_until(k.right);
        dog.progress();
    }
    stop = true;
    s.drain();
    EXPECT_TRUE(low.right.load());
    EXPECT_GE(s.statistics().preemptions, waves);
}

// Each level has a context, which the context of the next level preempts. All contexts exist at the same time, and end
// from the highest level down.
TEST_P(ticking, preemptions_nest) {
    const support::watchdog dog{"scheduler"};
    constexpr unsigned levels = 20;
    scheduler s{{.workers = 1, .highest_level = levels, .tick_source = GetParam()}};
    add_procedures(s);
    std::atomic<bool> stop[levels] = {};
    std::deque<keeper> all;
    for (unsigned level = 0; level < levels; ++level) {
        keeper& k = all.emplace_back(&stop[level], level);
        ASSERT_TRUE(s.submit({keep, &k, level}));
        wait_for_progress(k.turns);
    }
    EXPECT_EQ(s.statistics().active, levels - 1);
    for (unsigned level = levels; level-- != 0;) {
        wait_for_progress(all[level].turns);
        stop[level] = true;
        wait_until(all[level].right);
    }
    s.drain();
    EXPECT_EQ(s.statistics().preemptions, levels - 1);
}

// Catches preemption inside malloc or stdio: the second context finds the first one's lock taken forever, or the heap
// half changed.
TEST_P(ticking, malloc_and_stdio_survive_preemption) {
    const support::watchdog dog{"scheduler"};
    // No job sleeps here, so ticks need not become rarer: most of them find the C library.
    constexpr std::chrono::microseconds soon{50};
    scheduler s{{.workers = 1, .tick_source = GetParam(), .timing = {.period = soon, .max_retry_pause = soon}}};
    add_procedures(s);
    std::atomic<bool> stop{false};
    allocator low{&stop, 1, ~std::uint64_t{0}};
    ASSERT_TRUE(s.submit({allocate, &low, 1}));
    std::deque<allocator> high;
    const std::size_t count = support::rounds(400);
    for (std::size_t i = 0; i < count; ++i) {
        if (i % 4 == 0) wait_for_progress(low.turns);  // so that it has to be preempted
        allocator& a = high.emplace_back(nullptr, i, 20);
        while (!s.submit({allocate, &a, 2 + static_cast<unsigned>(i % 4)})) std::this_thread::yield();
        if (i % 4 == 0) {
            while (!a.right.load()) std::this_thread::yield();
        }
        dog.progress();
    }
    stop = true;
    s.drain();
    EXPECT_TRUE(low.right.load());
    for (const allocator& a : high) ASSERT_TRUE(a.right.load());
    EXPECT_GT(s.statistics().preemptions, 0u);
    EXPECT_GT(s.statistics().ticks_deferred, 0u) << "some ticks must have found library code";
}

// Each of the two long jobs has a bank of its own, so they never wait for each other: only preemption lets others run.
TEST_P(ticking, transactions_that_preempt_each_other_stay_atomic) {
    const support::watchdog dog{"scheduler"};
    bank b[2];
    scheduler s{{.workers = 2, .tick_source = GetParam(), .timing = {.period = std::chrono::microseconds{50}}}};
    add_procedures(s);
    std::atomic<bool> stop{false};
    transfers low[2] = {{&b[0], 1, &stop, 20, 500}, {&b[1], 2, &stop, 20, 500}};
    for (transfers& l : low) ASSERT_TRUE(s.submit({transfer, &l, 1}));
    std::deque<transfers> high;
    std::deque<audit> audits;
    const std::size_t waves = support::rounds(100);
    for (std::size_t i = 0; i < waves; ++i) {
        for (transfers& l : low) wait_for_progress(l.reads);
        for (unsigned level = 2; level <= 4; ++level) {
            ASSERT_TRUE(s.submit({transfer, &high.emplace_back(&b[level % 2], i * 7 + level, nullptr, 4, 100), level}));
        }
        ASSERT_TRUE(s.submit({check_total, &audits.emplace_back(&b[i % 2], 0), 5}));
        dog.progress();
    }
    stop = true;
    s.drain();
    for (const transfers& l : low) EXPECT_GT(l.done, 0);
    for (const transfers& t : high) ASSERT_EQ(t.done, 1);
    for (const audit& a : audits) ASSERT_EQ(a.wrong, 0);
    long total = 0;
    for (const bank& one : b) {
        for (const auto& m : one.money) total += m.load();
    }
    EXPECT_EQ(total, 0);
    EXPECT_GT(s.statistics().preemptions, 0u);
}

INSTANTIATE_TEST_SUITE_P(sources, ticking, ::testing::Values("kernel", "on-demand", "periodic"));

TEST(scheduler_test, reports_invalid_options) {
    EXPECT_THROW((scheduler{{.workers = 0}}), std::invalid_argument);
    EXPECT_THROW((scheduler{{.workers = 4, .contexts = 3}}), std::invalid_argument);
    EXPECT_THROW((scheduler{{.highest_level = 64}}), std::invalid_argument);
    try {
        scheduler{{.tick_source = "sundial"}};
        FAIL();
    } catch (const std::invalid_argument& e) {
        EXPECT_NE(std::string{e.what()}.find("'sundial' is unknown; there are automatic kernel on-demand"),
                  std::string::npos)
            << e.what();
    }
}

}  // namespace
}  // namespace tutti::preempt
