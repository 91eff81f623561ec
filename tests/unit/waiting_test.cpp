#include "core/waiting/waiting.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <latch>
#include <thread>

#include "base/futex.hpp"
#include "core/lifecycle/registry.hpp"
#include "core/state/sleepers.hpp"
#include "tutti/tutti.hpp"

namespace tutti::core {
namespace {

// What a barrier waits for, and how, must not show in errno, which belongs to the program.
TEST(waiting, leaves_errno_alone) {
    const std::atomic<std::uint32_t> word{1};
    errno = 77;
    base::futex_wait(word, 0);  // EAGAIN
    EXPECT_EQ(errno, 77);
    base::futex_wait(word, 1, base::real_now() + std::chrono::milliseconds{1});  // ETIMEDOUT
    EXPECT_EQ(errno, 77);
    base::futex_wait_cancellably(word, 0);
    EXPECT_EQ(errno, 77);
}

// Many sleepers on one transaction, many times over: one that is not woken hangs the test.
TEST(waiting, everybody_is_woken_by_the_end_of_a_transaction) {
    constexpr int rounds = 200, sleepers = 4;
    for (int round = 0; round < rounds; ++round) {
        std::latch begun{1}, waiting{sleepers};
        descriptor* owner = nullptr;
        word state = 0;
        std::thread runner{[&] {
            atomically([&](tx& t) {
                owner = &descriptor::of(t);
                state = owner->state.load(std::memory_order_relaxed);
                begun.count_down();
                waiting.wait();
            });
        }};
        std::vector<std::thread> crowd;
        for (int i = 0; i < sleepers; ++i) {
            crowd.emplace_back([&] {
                begun.wait();
                descriptor& self = attach();
                waiting.count_down();
                wait_for(self, *owner, state);
                EXPECT_TRUE(is_over(*owner, state));
            });
        }
        for (auto& t : crowd) t.join();
        runner.join();
    }
}

std::atomic<int> wakes{0};
std::atomic<bool> sleeps{false}, may_go_on{false};

constexpr preemption slow_sleeper{
    .serve_tick = [](descriptor&) noexcept {},
    .wait = nullptr,
    .sleep =
        [](descriptor&, const detail::shared<std::uint32_t>&, std::optional<base::deadline>) noexcept {
            sleeps = true;
            sleeps.notify_all();
            may_go_on.wait(false);
        },
    .wake = [](descriptor&) noexcept { ++wakes; },
};

// Catches commits that wake threads that are awake already: a crowd of n would be woken n * n times by its own commits.
TEST(waiting, who_sleeps_in_retry_is_woken_once) {
    var<int> x{0};
    std::thread sleeper{[&] {
        attach().hooks = &slow_sleeper;
        atomically([&](tx& t) {
            if (x.get(t) == 0) retry(t);
        });
    }};
    sleeps.wait(false);
    x.store(1);
    x.store(2);
    EXPECT_EQ(wakes, 1);
    may_go_on = true;
    may_go_on.notify_all();
    sleeper.join();
}

}  // namespace
}  // namespace tutti::core
