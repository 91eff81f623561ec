// Contexts that sleep in retry. They occupy neither a worker nor a place that the waking context needs, and they do not
// keep sleeping when the scheduler ends.
#include <gtest/gtest.h>

#include <deque>
#include <thread>

#include "preempt/procedures/busy.hpp"
#include "preempt/procedures/orec_owners.hpp"
#include "preempt/progress.hpp"
#include "preempt/scheduler.hpp"
#include "support/effort.hpp"
#include "support/watchdog.hpp"

namespace tutti::preempt {
namespace {

using namespace procedures;

void wait_for_parked(scheduler& s, std::uint64_t count) {
    while (s.statistics().parked != count) std::this_thread::yield();
}

work to_consume(interruptible_consumer& l) {
    return {.run = consume_or_count_interruption, .argument = &l, .priority = 3, .on_stranded = [](void* of) noexcept {
                static_cast<interruptible_consumer*>(of)->was_announced = true;
            }};
}

// Catches a retry that sleeps and blocks its worker.
TEST(retry, releases_its_worker) {
    const support::watchdog dog{"waiting"};
    var<int> x{0};
    std::deque<consumer> consumers;
    scheduler s{{.workers = 1, .contexts = 64}};
    add_procedures(s);
    for (unsigned i = 0; i < 10; ++i) ASSERT_TRUE(s.submit({consume, &consumers.emplace_back(&x), i % 6}));
    while (s.statistics().parked < 10) std::this_thread::yield();
    orec_owner producer{.of = &x, .adds = 10};
    ASSERT_TRUE(s.submit({own, &producer, 0}));
    s.drain();
    for (const consumer& c : consumers) EXPECT_TRUE(c.got);
    EXPECT_EQ(x.load(), 0);
}

// The wake-up may come between the transaction's last check and its sleep, and then finds no sleeper. Catches a sleep
// that does not check under the lock.
TEST(retry, does_not_sleep_after_an_early_wakeup) {
    const support::watchdog dog{"waiting"};
    std::atomic<bool> done{false};
    const auto sleep = [](void* of) noexcept {
        core::descriptor& d = core::descriptor::of(*detail::current_transaction);
        const detail::shared<std::uint32_t> woken{1};
        d.hooks->sleep(d, woken, std::nullopt);
        d.hooks->park(d, woken, base::deadline::max());
        static_cast<std::atomic<bool>*>(of)->store(true);
    };
    scheduler s{{.workers = 1}};
    ASSERT_TRUE(s.submit({sleep, &done, 1}));
    s.drain();
    EXPECT_TRUE(done);
    EXPECT_EQ(s.statistics().parkings, 0u);
}

/// Blocks the first worker that is about to park a context. Workers report a context before they park it.
struct threshold {
    std::atomic<bool> is_reached{false}, is_open{false};
    static void report(void* of, context_event what, const context&, unsigned) noexcept {
        auto& t = *static_cast<threshold*>(of);
        if (what != context_event::parked || t.is_reached.exchange(true)) return;
        while (!t.is_open) std::this_thread::yield();
    }
};

// Catches a wake-up that is lost on a context that has registered as sleeping but is not parked yet.
TEST(retry, is_woken_before_its_worker_has_parked_it) {
    const support::watchdog dog{"waiting"};
    var<int> x{0};
    consumer c{&x};
    threshold t;
    scheduler s{{.workers = 1, .event_observer = {&t, &threshold::report}}};
    add_procedures(s);
    ASSERT_TRUE(s.submit({consume, &c, 3}));
    wait_until(t.is_reached);
    x.store(1);
    t.is_open = true;
    s.drain();
    EXPECT_TRUE(c.got);
}

TEST(retry, is_woken_by_a_thread_outside_of_the_scheduler) {
    const support::watchdog dog{"waiting"};
    var<int> x{0};
    scheduler s{{.workers = 2}};
    for (std::size_t i = 0; i < support::rounds(200); ++i) {
        consumer c{&x};
        ASSERT_TRUE(s.submit({consume, &c, 3}));
        if (i % 2 == 0) {
            while (c.attempts == 0) std::this_thread::yield();
        }
        x.store(1);
        s.drain();
        ASSERT_TRUE(c.got);
        dog.progress();
    }
}

/// Only reads, so that its commit wakes no sleeper.
struct reader {
    const var<int>* at;
    std::atomic<int> attempts{0};
};

void read_until_set(void* of_reader) noexcept {
    auto& me = *static_cast<reader*>(of_reader);
    atomically([&](tx& t) {
        const bool there = me.at->get(t) != 0;
        ++me.attempts;
        if (!there) tutti::retry(t);
    });
}

// Contexts and threads wait alternately for one change. Catches a thread that is not woken because it waits behind
// contexts, and a context that is not woken because it waits behind threads.
TEST(retry, wakes_contexts_and_threads_that_wait_together) {
    const support::watchdog dog{"waiting"};
    constexpr std::uint64_t of_each = 8;
    for (std::size_t i = 0; i < support::rounds(20); ++i) {
        var<int> x{0};
        std::deque<reader> all;
        std::deque<std::jthread> threads;
        scheduler s{{.workers = 1, .contexts = 64}};
        for (std::uint64_t c = 1; c <= of_each; ++c) {
            ASSERT_TRUE(s.submit({read_until_set, &all.emplace_back(&x), 3}));
            wait_for_parked(s, c);
            threads.emplace_back([of = &all.emplace_back(&x)] { read_until_set(of); });
            wait_for_count(all.back().attempts, 1);
        }
        x.store(1);
        threads.clear();
        s.drain();
        for (const reader& o : all) EXPECT_GE(o.attempts, 2);
    }
}

// The worker runs work that never ends, so only a tick can end the wait.
TEST(retry, ends_in_time_although_the_worker_is_busy) {
    const support::watchdog dog{"waiting"};
    var<int> x{0};
    consumer c{&x, std::chrono::milliseconds{2}};
    spinner busy;
    scheduler s{{.workers = 1}};
    add_procedures(s);
    ASSERT_TRUE(s.submit({consume, &c, 3}));
    while (s.statistics().parked == 0 && !c.done) std::this_thread::yield();
    ASSERT_TRUE(s.submit({spin, &busy, 1}));
    wait_until(c.done);
    EXPECT_FALSE(c.got);
    busy.stop = true;
    s.drain();
}

// Catches sleepers that keep their places. The job that wakes the sleepers needs a place, so the test would hang.
TEST(retry, releases_its_place) {
    const support::watchdog dog{"retry"};
    var<int> x{0};
    std::deque<consumer> consumers;
    scheduler s{{.workers = 1, .contexts = 1}};
    for (int i = 0; i < 20; ++i) ASSERT_TRUE(s.submit({consume, &consumers.emplace_back(&x), 3}));
    orec_owner producer{.of = &x, .adds = 20};
    ASSERT_TRUE(s.submit({own, &producer, 1})) << "it begins when all others sleep";
    s.drain();
    for (const consumer& c : consumers) EXPECT_TRUE(c.got);
    EXPECT_EQ(x.load(), 0);
}

// A sleeper without a place counts as waiting; otherwise clients could create unlimited contexts.
TEST(retry, counts_towards_max_waiting) {
    const support::watchdog dog{"retry"};
    var<int> x{0};
    std::deque<consumer> consumers;
    scheduler s{{.workers = 1, .contexts = 1, .max_waiting = 3}};
    for (std::uint64_t round = 0; round < 2; ++round) {
        for (std::uint64_t i = 1; i <= 3; ++i) {
            ASSERT_TRUE(s.submit({consume, &consumers.emplace_back(&x), 3}));
            wait_for_parked(s, i);
        }
        consumer refused{&x};
        EXPECT_FALSE(s.submit({consume, &refused, 5}));
        x.store(3);
        s.drain();
    }
    for (const consumer& c : consumers) EXPECT_TRUE(c.got);
}

/// A procedure that continues after its sleep.
struct consumer_then_spinner {
    consumer first;
    spinner then;
};

void consume_then_spin(void* of) noexcept {
    auto& both = *static_cast<consumer_then_spinner*>(of);
    consume(&both.first);
    spin(&both.then);
}

// The sleeper has no place any more, so both places belong to calls on the other worker. A waiting call gets the place
// of the urgent call, but the urgent call's worker continues with its former work. Catches an idle worker that is not
// notified.
TEST(retry, lets_other_workers_use_its_place) {
    const support::watchdog dog{"retry"};
    var<int> x{0};
    consumer_then_spinner sleeper{{.of = &x}, {}};
    spinner begun, urgent;
    std::atomic<int> clock{0};
    marker waits{&clock};
    scheduler s{{.workers = 2, .contexts = 2}};
    add_procedures(s);
    ASSERT_TRUE(s.submit({consume_then_spin, &sleeper, 5}));
    wait_for_parked(s, 1);
    x.store(1);
    wait_until(sleeper.then.started);
    ASSERT_TRUE(s.submit({spin, &begun, 1}));
    wait_until(begun.started);
    ASSERT_TRUE(s.submit({spin, &urgent, 4}));
    wait_until(urgent.started);
    sleeper.then.stop = true;
    while (s.statistics().finished == 0) std::this_thread::yield();
    ASSERT_TRUE(s.submit({mark, &waits, 1}));
    EXPECT_EQ(s.statistics().without_context, 1U);
    urgent.stop = true;
    wait_for_count(waits.at, 1);
    begun.stop = true;
    s.drain();
}

// Woken sleepers have no places, so an urgent call is admitted beside them.
TEST(retry, does_not_block_new_work_once_woken) {
    const support::watchdog dog{"retry"};
    var<int> x{0};
    std::deque<consumer> consumers;
    scheduler s{{.workers = 1, .contexts = 1}};
    add_procedures(s);
    for (std::uint64_t i = 1; i <= 5; ++i) {
        ASSERT_TRUE(s.submit({consume, &consumers.emplace_back(&x), 1}));
        wait_for_parked(s, i);
    }
    spinner busy;
    ASSERT_TRUE(s.submit({spin, &busy, 2}));
    wait_until(busy.started);
    x.store(5);
    busy.stop = true;
    while (s.statistics().finished == 0) std::this_thread::yield();
    std::atomic<int> clock{0};
    marker urgent{&clock};
    ASSERT_TRUE(s.submit({mark, &urgent, 5}));
    s.drain();
    EXPECT_EQ(urgent.at, 1);
    for (const consumer& c : consumers) EXPECT_TRUE(c.got);
}

// The only place is taken, so the job that wakes a sleeper begins when the scheduler already ends. Catches an end that
// waits for sleepers forever, and an end that interrupts sleepers that would have been woken.
TEST(retry, is_interrupted_when_nothing_can_wake_it) {
    const support::watchdog dog{"retry"};
    var<int> x{0};
    std::deque<interruptible_consumer> waiting;
    spinner busy;
    orec_owner producer{.of = &x, .adds = 2};
    scheduler s{{.workers = 1, .contexts = 1}};
    add_procedures(s);
    for (std::uint64_t i = 1; i <= 5; ++i) {
        ASSERT_TRUE(s.submit(to_consume(waiting.emplace_back(&x))));
        wait_for_parked(s, i);
    }
    ASSERT_TRUE(s.submit({spin, &busy, 3}));
    wait_until(busy.started);
    ASSERT_TRUE(s.submit({own, &producer, 3}));
    s.end_waits();
    busy.stop = true;
    s.stop();
    int got = 0, interrupted = 0;
    for (const interruptible_consumer& l : waiting) {
        got += l.got;
        interrupted += l.interrupted;
        EXPECT_EQ(l.was_announced, l.interrupted);
    }
    EXPECT_EQ(got, 2);
    EXPECT_EQ(interrupted, 3);
    EXPECT_EQ(s.statistics().finished, 7u);
}

// Catches an end that treats an idle worker as the end of all work: the other worker runs the job that wakes the
// sleeper.
TEST(retry, is_not_interrupted_while_another_worker_is_busy) {
    const support::watchdog dog{"retry"};
    var<int> x{0};
    interruptible_consumer sleeper{&x};
    orec_owner producer{.of = &x, .adds = 1, .ends_at_once = false};
    std::atomic<int> clock{0};
    marker last{&clock};
    scheduler s{{.workers = 2}};
    ASSERT_TRUE(s.submit(to_consume(sleeper)));
    wait_for_parked(s, 1);
    ASSERT_TRUE(s.submit({own, &producer, 3}));
    wait_for_count(producer.attempts, 1);
    s.end_waits();
    ASSERT_TRUE(s.submit({mark, &last, 3}));
    while (s.statistics().finished == 0) std::this_thread::yield();  // counted when its worker checks for more work
    EXPECT_FALSE(sleeper.was_announced);
    producer.go = true;
    s.stop();
    EXPECT_TRUE(sleeper.got);
}

// Each sleeper wakes the other one when it is interrupted. Catches an end that interrupts both.
TEST(retry, is_not_interrupted_if_an_interrupted_one_wakes_it) {
    const support::watchdog dog{"retry"};
    for (const unsigned workers : {1U, 2U}) {
        var<int> x{0}, y{0};
        interruptible_consumer one{&x, &y}, other{&y, &x};
        scheduler s{{.workers = workers}};
        ASSERT_TRUE(s.submit(to_consume(one)));
        ASSERT_TRUE(s.submit(to_consume(other)));
        wait_for_parked(s, 2);
        s.stop();
        EXPECT_NE(one.got, other.got);
        EXPECT_NE(one.interrupted, other.interrupted);
    }
}

// Catches an interrupted sleeper that cannot be terminated and stops sleeping: it occupies the only worker, which
// should run the job that wakes it.
TEST(retry, continues_to_sleep_if_uninterruptible) {
    const support::watchdog dog{"retry"};
    var<int> x{0};
    consumer undo{&x};
    orec_owner producer{.of = &x, .adds = 1};
    scheduler s{{.workers = 1}};
    void* slot = nullptr;
    ASSERT_TRUE(s.submit({.run = consume_in_undo, .argument = &undo, .priority = 3, .context_slot = &slot}));
    wait_for_parked(s, 1);
    s.interrupt(slot, &undo);
    ASSERT_TRUE(s.submit({own, &producer, 1}));
    s.drain();
    EXPECT_TRUE(undo.got);
}

// Catches an end that waits for an uninterruptible sleeper before it ends the others, and an end that ends none of
// them.
TEST(retry, does_not_keep_others_from_being_interrupted) {
    const support::watchdog dog{"retry"};
    var<int> x{0}, y{0};
    consumer undo{&x};
    interruptible_consumer other{&y};
    scheduler s{{.workers = 1}};
    ASSERT_TRUE(s.submit({consume_in_undo, &undo, 3}));
    ASSERT_TRUE(s.submit(to_consume(other)));
    wait_for_parked(s, 2);
    s.end_waits();
    wait_until(other.interrupted);
    EXPECT_TRUE(other.was_announced);
    x.store(1);
    s.drain();
    EXPECT_TRUE(undo.got);
}

// The scheduler's end waits for the sleeper, as for any job that ends by itself.
TEST(retry, ends_by_its_own_limit_although_the_scheduler_ends) {
    const support::watchdog dog{"retry"};
    var<int> x{0};
    consumer limited{&x, std::chrono::milliseconds{2}};
    scheduler s{{.workers = 2}};
    ASSERT_TRUE(s.submit({consume, &limited, 3}));
    s.stop();
    EXPECT_TRUE(limited.done) << "an interruption would have ended the program";
    EXPECT_FALSE(limited.got);
}

}  // namespace
}  // namespace tutti::preempt
