#include "core/waiting/waiting.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <latch>
#include <thread>
#include <vector>

#include "base/futex.hpp"
#include "core/lifecycle/registry.hpp"
#include "core/state/sleepers.hpp"
#include "core/waiting/wakeup.hpp"
#include "support/watchdog.hpp"
#include "tutti/tutti.hpp"

namespace tutti::core {
namespace {

// A wait of a barrier must not change errno, which belongs to the program.
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

// Many sleepers wait for one transaction, many times: a sleeper that is not woken hangs the test.
TEST(waiting, ends_for_all_when_the_transaction_ends) {
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
        std::vector<std::thread> threads;
        for (int i = 0; i < sleepers; ++i) {
            threads.emplace_back([&] {
                begun.wait();
                descriptor& self = attach();
                waiting.count_down();
                wait_for(self, *owner, state);
                EXPECT_TRUE(is_over(*owner, state));
            });
        }
        for (auto& t : threads) t.join();
        runner.join();
    }
}

TEST(waiting, ends_when_the_context_runs_a_later_transaction) {
    descriptor& d = descriptor::of(detail::current_or_attach());
    word earlier = 0;
    atomically([&](tx&) {
        earlier = d.state.load(std::memory_order_relaxed);
        EXPECT_FALSE(is_over(d, earlier));
    });
    EXPECT_TRUE(is_over(d, earlier));
    atomically([&](tx&) { EXPECT_TRUE(is_over(d, earlier)); });
}

// Catches a wait that continues with the defeats of a later execution, and would end with that execution.
TEST(waiting, ends_with_the_execution_for_a_commit) {
    const support::watchdog dog{"waiting for a commit"};
    std::latch restarted{1}, found{1};
    descriptor* owner = nullptr;
    word state = 0;
    std::thread runner{[&] {
        atomically([&](tx& t) {
            owner = &descriptor::of(t);
            state = owner->state.load(std::memory_order_relaxed);
        });
        atomically([&](tx& t) {
            if (t.attempt() == 1) restart(t);
            restarted.count_down();
            found.wait();
        });
    }};
    restarted.wait();
    wait_for_commit(descriptor::of(detail::current_or_attach()), *owner, state, false);
    found.count_down();
    runner.join();
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

// Catches commits that wake threads that are already awake: n threads would be woken n * n times by their own commits.
TEST(waiting, wakes_a_sleeper_in_retry_once) {
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

// Catches a wake-up that is left to threads that are not asleep yet. A thread on its way to sleep may still run code
// that waits.
TEST(waiting, does_not_depend_on_waiters_still_awake) {
    const support::watchdog dog{"on the way to sleep"};
    var<int> x{0};
    std::latch on_the_way{2}, woken{1};
    const auto slowly = [&] {
        atomically([&](tx& t) {
            if (x.get(t) != 0) return;
            t.on_abort([&] {
                on_the_way.count_down();
                woken.wait();
            });
            retry(t);
        });
    };
    std::thread first{slowly}, second{slowly};
    on_the_way.wait();
    std::thread third{[&] {
        atomically([&](tx& t) {
            if (x.get(t) == 0) retry(t);
        });
        woken.count_down();
    }};
    while (count_waiters() != 3) std::this_thread::yield();
    x.store(1);
    for (std::thread* t : {&first, &second, &third}) t->join();
}

// Catches a notification that starts where the previous one stopped.
TEST(waiting, wakes_an_earlier_waiter_first_again) {
    const support::watchdog dog{"waits again"};
    var<int> x{0};
    std::vector<var<int>> many(8192);  // some of them share the waiting list of x
    std::atomic<int> attempts{0};
    std::thread first{[&] {
        atomically([&](tx& t) {
            ++attempts;
            if (x.get(t) < 2) retry(t);
        });
    }};
    while (count_waiters() != 1) std::this_thread::yield();
    std::thread later{[&] {
        atomically([&](tx& t) {
            int sum = 0;
            for (const var<int>& v : many) sum += v.get(t);
            if (sum == 0) retry(t);
        });
    }};
    while (count_waiters() != 2) std::this_thread::yield();
    x.store(1);
    while (attempts != 2 || count_waiters() != 2) std::this_thread::yield();
    x.store(2);
    first.join();
    many.front().store(1);
    later.join();
}

}  // namespace
}  // namespace tutti::core
