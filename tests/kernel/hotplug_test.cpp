// Processors that go offline and come back under threads that tick, and under threads that sleep for one another.
#include <chrono>
#include <deque>
#include <fstream>
#include <string>

#include "kernel/device.hpp"
#include "kernel/registered_thread.hpp"
#include "kernel/sharing.hpp"

namespace kernel_test {
namespace {

constexpr auto switch_of_the_second = "/sys/devices/system/cpu/cpu1/online";

bool set_second_processor(bool online) {
    std::ofstream file{switch_of_the_second};
    file << (online ? "1" : "0") << std::flush;
    return file.good();
}

// Catches a kick that is sent to the thread's former processor: the kernel warns of an interrupt for an offline
// processor.
TEST(processors, go_offline_and_return) {
    if (!std::ifstream{switch_of_the_second}) GTEST_SKIP() << "this machine has one processor, or keeps them all";
    device d;
    ASSERT_EQ(d.allow_grind(), 0);
    std::deque<ticking_thread> ticking;
    for (int i = 0; i < 3; ++i) ticking.emplace_back(d, tick_registration(200'000));
    // The thread registers on the processor that goes offline.
    cpu_set_t all;
    ASSERT_EQ(::sched_getaffinity(0, sizeof all, &all), 0);
    pin_to(1);
    ticking_thread kicked{d};
    ASSERT_EQ(::sched_setaffinity(0, sizeof all, &all), 0);
    winner_and_loser pair{d};
    const auto all_go_on = [&] {
        for (ticking_thread& g : ticking) wait_for_more(g.entry().redirected, read_once(g.entry().redirected) + 3);
        for (int i = 0; i < 3; ++i) {
            const __u64 before = read_once(kicked.entry().redirected);
            ASSERT_EQ(kicked.kick(), 0);
            wait_for_more(kicked.entry().redirected, before);
        }
        const std::uint64_t rounds = pair.rounds();
        while (pair.rounds() < rounds + 3) std::this_thread::yield();
    };
    for (int i = 0; i < 2; ++i) {
        ASSERT_TRUE(set_second_processor(false));
        all_go_on();
        ASSERT_TRUE(set_second_processor(true));
        all_go_on();
    }
    pair.stop();
    EXPECT_EQ(pair.errors(), 0u);
    for (ticking_thread& g : ticking) {
        g.stop();
        EXPECT_EQ(g.damage, 0u);
    }
    kicked.stop();
    EXPECT_EQ(kicked.damage, 0u);
}

}  // namespace
}  // namespace kernel_test
