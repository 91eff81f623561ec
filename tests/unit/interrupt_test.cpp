// Interruptions of another thread's transactions. Catches an interruption that a loop or a sleep in retry survives, and
// one that affects more than its target.

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "support/effort.hpp"
#include "support/watchdog.hpp"
#include "tutti/tutti.hpp"

namespace {

/// Runs `body` on a thread of its own and interrupts it until it has ended. Returns true if it ended by `interrupted`.
template <class F>
bool interrupt(F&& body, bool raised_before = false) {
    std::atomic<tutti::interruption*> handle{nullptr};
    std::atomic<bool> over{false};
    bool interrupted = false;
    std::thread runner{[&] {
        tutti::interruption mine;
        if (raised_before) mine.raise();
        handle = &mine;
        handle.notify_all();
        try {
            body();
        } catch (const tutti::interrupted&) {
            interrupted = true;
        }
        over = true;
        over.notify_all();
        handle.wait(&mine);
    }};
    handle.wait(nullptr);
    while (!over) {
        handle.load()->raise();
        std::this_thread::yield();
    }
    // A later block of the interrupted thread runs normally.
    handle = nullptr;
    handle.notify_all();
    runner.join();
    return interrupted;
}

TEST(interrupt, ends_an_endless_transaction) {
    tutti::var<long> shared{0};
    EXPECT_TRUE(interrupt([&] {
        tutti::atomically([&](tutti::tx& t) {
            for (;;) shared.set(t, shared.get(t) + 1);
        });
    }));
    EXPECT_EQ(shared.load(), 0) << "the block had no effect";
}

TEST(interrupt, ends_a_sleep_in_retry) {
    const tutti::var<long> never{0};
    EXPECT_TRUE(interrupt([&] {
        tutti::atomically([&](tutti::tx& t) {
            if (never.get(t) == 0) tutti::retry(t);
        });
    }));
}

// The interrupted thread may be the one that should wake the next waiter. Catches an interrupted thread that leaves
// without waking that waiter. The test then hangs.
TEST(interrupt, takes_no_wake_up_from_later_waiters) {
    constexpr int behind = 6;
    tutti::var<long> gate{0};
    std::atomic<int> come{0};
    const auto pass = [&](long round) {
        tutti::atomically([&](tutti::tx& t) {
            if (t.attempt() == 1) ++come;
            if (gate.get(t) < round) tutti::retry(t);
        });
    };
    const auto rounds = static_cast<long>(tutti::support::rounds(100));
    for (long round = 1; round <= rounds; ++round) {
        come = 0;
        std::vector<std::jthread> others;
        (void)interrupt([&] {
            for (int i = 0; i < behind; ++i) others.emplace_back([&] { pass(round); });
            others.emplace_back([&] {
                while (come <= behind) std::this_thread::yield();
                gate.store(round);
            });
            pass(round);
        });
    }
    EXPECT_EQ(gate.load(), rounds);
}

TEST(interrupt, ends_a_loop_of_short_transactions) {
    tutti::var<long> shared{0};
    EXPECT_TRUE(interrupt([&] {
        for (;;) tutti::atomically([&](tutti::tx& t) { shared.set(t, shared.get(t) + 1); });
    }));
}

TEST(interrupt, is_noticed_by_a_later_sleep) {
    const tutti::var<long> never{0};
    EXPECT_TRUE(interrupt(
        [&] {
            tutti::atomically([&](tutti::tx& t) {
                if (never.get(t) == 0) tutti::retry(t);
            });
        },
        true));
}

// One interruption is enough. Catches a sleep that begins without a check.
TEST(interrupt, ends_a_sleep_after_a_raised_interruption) {
    const tutti::support::watchdog dog{"a sleep after an interruption"};
    const tutti::var<long> never{0};
    tutti::interruption mine;
    mine.raise();
    EXPECT_THROW(tutti::atomically([&](tutti::tx& t) {
                     if (never.get(t) == 0) tutti::retry(t);
                 }),
                 tutti::interrupted);
}

TEST(interrupt, ends_when_it_is_cleared) {
    tutti::interruption mine;
    mine.raise();
    mine.lower();
    unsigned attempts = 0;
    tutti::atomically([&](tutti::tx& t) {
        attempts = t.attempt();
        if (attempts < 3) tutti::restart(t);
    });
    EXPECT_EQ(attempts, 3U);
}

TEST(interrupt, leaves_an_irrevocable_transaction_alone) {
    tutti::var<long> shared{0};
    EXPECT_FALSE(interrupt([&] {
        tutti::atomically({.mode = tutti::mode::irrevocable}, [&](tutti::tx& t) {
            for (int i = 0; i < 1000; ++i) shared.set(t, i);
        });
    }));
    EXPECT_EQ(shared.load(), 999);
}

}  // namespace
