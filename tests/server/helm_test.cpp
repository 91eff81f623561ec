// The helm of an I/O thread. Catches two owners at the same time, a worker's place that stays empty, and a thread that
// sleeps on when a worker has gone.
#include <gtest/gtest.h>

#include <array>
#include <thread>

#include "server/net/helm.hpp"
#include "server/net/pace.hpp"
#include "support/effort.hpp"
#include "support/watchdog.hpp"

namespace tutti::server {
namespace {

using namespace std::chrono_literals;

TEST(helm, is_the_threads_until_it_is_offered) {
    helm h;
    EXPECT_FALSE(h.take());
    h.offer();
    EXPECT_TRUE(h.take());
    EXPECT_FALSE(h.take()) << "a worker has it";
    h.leave();
    EXPECT_TRUE(h.take());
}

TEST(helm, is_handed_over) {
    helm h;
    h.offer();
    std::thread worker{[&] {
        ASSERT_TRUE(h.take());
        h.hand_over();
    }};
    while (h.stand_by() != helm::taken::handed_over) h.offer();  // the worker was slow to come
    EXPECT_FALSE(h.take());
    worker.join();
}

TEST(helm, is_taken_from_a_worker_that_stays_away) {
    helm h;
    h.offer();
    ASSERT_TRUE(h.take());
    h.leave();
    EXPECT_EQ(h.stand_by(), helm::taken::deserted);
    EXPECT_FALSE(h.take());
}

// The thread never wakes by itself while a worker waits for clients. Without the wake-up this test hangs.
TEST(helm, wakes_the_thread_when_a_worker_leaves_after_long) {
    const support::watchdog dog{"helm"};
    for (int round = 0; round < 3; ++round) {
        helm h;
        h.offer();
        ASSERT_TRUE(h.take());
        std::thread thread{[&] { EXPECT_EQ(h.stand_by(), helm::taken::deserted); }};
        while (!h.is_asleep()) std::this_thread::sleep_for(1ms);
        h.leave();
        thread.join();
    }
}

// Works as I/O threads and workers do, with a step that must have one owner at a time.
TEST(helm, is_had_by_one_at_a_time) {
    helm h;
    const std::size_t rounds = support::rounds(2000);
    long steps = 0;  // not atomic, so that a race detector checks it
    std::atomic<bool> over{false};
    std::array<std::thread, 3> workers;
    std::array<long, 3> taken{};
    for (std::size_t w = 0; w < workers.size(); ++w) {
        workers[w] = std::thread{[&, w] {
            while (!over.load()) {
                if (!h.take()) continue;
                const long seen = ++steps;
                ++taken[w];
                if (steps != seen) ADD_FAILURE() << "another one has it, too";
                if (seen % 64 == 0) h.hand_over();
                else h.leave();
            }
        }};
    }
    for (std::size_t i = 0; i < rounds; ++i) {
        ++steps;
        h.offer();
        static_cast<void>(h.stand_by());
    }
    over.store(true);
    for (auto& w : workers) w.join();
    EXPECT_EQ(steps, static_cast<long>(rounds) + taken[0] + taken[1] + taken[2]);
}

TEST(pace, calls_a_procedure_brief_once_it_was_for_long_and_forgives_one_that_was_not) {
    constexpr auto brief = 20us;
    pace p{1, brief, 1};
    EXPECT_FALSE(p.is_brief(0)) << "nothing is known of it";
    for (int i = 0; i < 100; ++i) p.note(0, 1us);
    EXPECT_TRUE(p.is_brief(0));
    EXPECT_LE(p.usual(0), 1us);
    p.note(0, 5ms);
    EXPECT_TRUE(p.is_brief(0));
    p.note(0, 5ms);
    EXPECT_FALSE(p.is_brief(0)) << "one in two may last";
    for (int i = 0; i < 100; ++i) p.note(0, i % 10 == 0 ? brief : 1us);
    EXPECT_FALSE(p.is_brief(0)) << "one in ten does";
}

// Catches interrupts of workers although another worker will be free sooner, and an I/O thread that a worker replaces
// for too long.
TEST(pace, counts_the_workers_that_may_come_free) {
    constexpr auto brief = 20us;
    pace p{1, brief, 4};
    for (int i = 0; i < 100; ++i) p.note(0, 79us);
    EXPECT_TRUE(p.frees_one_soon(0));
    EXPECT_FALSE(p.is_brief(0)) << "a worker that stands in keeps its thread's part for all of it";
    for (int i = 0; i < 3; ++i) p.note(0, 80us);
    EXPECT_FALSE(p.frees_one_soon(0));
}

}  // namespace
}  // namespace tutti::server
