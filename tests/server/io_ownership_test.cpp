// The I/O ownership of an I/O thread. Catches two owners at the same time, a worker's place that stays empty, and a
// thread that continues to sleep when a worker has gone.
#include <gtest/gtest.h>

#include <array>
#include <thread>

#include "server/net/duration_estimator.hpp"
#include "server/net/io_ownership.hpp"
#include "support/effort.hpp"
#include "support/watchdog.hpp"

namespace tutti::server {
namespace {

using namespace std::chrono_literals;

TEST(io_ownership_test, belongs_to_the_thread_until_offered) {
    io_ownership h;
    EXPECT_FALSE(h.try_acquire());
    h.offer();
    EXPECT_TRUE(h.try_acquire());
    EXPECT_FALSE(h.try_acquire()) << "a worker has it";
    h.release();
    EXPECT_TRUE(h.try_acquire());
}

TEST(io_ownership_test, returns_to_the_thread_on_hand_over) {
    io_ownership h;
    h.offer();
    std::thread worker{[&] {
        ASSERT_TRUE(h.try_acquire());
        h.return_to_thread();
    }};
    while (h.wait_for_ownership() != io_ownership::regained::handed_over) h.offer();  // the worker was slow to come
    EXPECT_FALSE(h.try_acquire());
    worker.join();
}

TEST(io_ownership_test, is_reclaimed_from_an_absent_worker) {
    io_ownership h;
    h.offer();
    ASSERT_TRUE(h.try_acquire());
    h.release();
    EXPECT_EQ(h.wait_for_ownership(), io_ownership::regained::reclaimed);
    EXPECT_FALSE(h.try_acquire());
}

// The thread never wakes by itself while a worker waits for clients. Without the wake-up this test hangs.
TEST(io_ownership_test, wakes_the_thread_when_a_worker_leaves_late) {
    const support::watchdog dog{"I/O ownership"};
    for (int round = 0; round < 3; ++round) {
        io_ownership h;
        h.offer();
        ASSERT_TRUE(h.try_acquire());
        std::thread thread{[&] { EXPECT_EQ(h.wait_for_ownership(), io_ownership::regained::reclaimed); }};
        while (!h.is_thread_asleep()) std::this_thread::sleep_for(1ms);
        h.release();
        thread.join();
    }
}

// Works as I/O threads and workers do, with a step that must have one owner at a time.
TEST(io_ownership_test, has_one_owner_at_a_time) {
    io_ownership h;
    const std::size_t rounds = support::rounds(2000);
    long steps = 0;  // not atomic, so that a race detector checks it
    std::atomic<bool> over{false};
    std::array<std::thread, 3> workers;
    std::array<long, 3> taken{};
    for (std::size_t w = 0; w < workers.size(); ++w) {
        workers[w] = std::thread{[&, w] {
            while (!over.load()) {
                if (!h.try_acquire()) continue;
                const long seen = ++steps;
                ++taken[w];
                if (steps != seen) ADD_FAILURE() << "another one has it, too";
                if (seen % 64 == 0) h.return_to_thread();
                else h.release();
            }
        }};
    }
    for (std::size_t i = 0; i < rounds; ++i) {
        ++steps;
        h.offer();
        static_cast<void>(h.wait_for_ownership());
    }
    over.store(true);
    for (auto& w : workers) w.join();
    EXPECT_EQ(steps, static_cast<long>(rounds) + taken[0] + taken[1] + taken[2]);
}

TEST(duration_estimator_test, rates_a_procedure_short_despite_one_long_call) {
    constexpr auto brief = 20us;
    duration_estimator p{1, brief, 1};
    EXPECT_FALSE(p.is_short(0)) << "nothing is known of it";
    for (int i = 0; i < 100; ++i) p.record(0, 1us);
    EXPECT_TRUE(p.is_short(0));
    EXPECT_LE(p.typical(0), 1us);
    p.record(0, 5ms);
    EXPECT_TRUE(p.is_short(0));
    p.record(0, 5ms);
    EXPECT_FALSE(p.is_short(0)) << "one in two may last";
    for (int i = 0; i < 100; ++i) p.record(0, i % 10 == 0 ? brief : 1us);
    EXPECT_FALSE(p.is_short(0)) << "one in ten does";
}

// Catches interrupts of workers although another worker will be free sooner, and an I/O thread that a worker replaces
// for too long.
TEST(duration_estimator_test, counts_the_workers_that_may_become_free) {
    constexpr auto brief = 20us;
    duration_estimator p{1, brief, 4};
    for (int i = 0; i < 100; ++i) p.record(0, 79us);
    EXPECT_TRUE(p.frees_worker_soon(0));
    EXPECT_FALSE(p.is_short(0)) << "a worker that owns the I/O keeps it for all of it";
    for (int i = 0; i < 3; ++i) p.record(0, 80us);
    EXPECT_FALSE(p.frees_worker_soon(0));
}

}  // namespace
}  // namespace tutti::server
