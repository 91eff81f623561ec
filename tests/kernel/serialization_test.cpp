// Hard serialization: every end of a winner wakes its sleepers, and other events do not end their sleep for long.
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <fstream>
#include <string>
#include <vector>

#include "kernel/registered_thread.hpp"
#include "kernel/sharing.hpp"
#include "support/effort.hpp"

namespace kernel_test {
namespace {

/// A thread that sleeps for `winner`'s transaction 1, repeatedly until it is over; records the last call's result.
class sleeper {
public:
    sleeper(const device& of, unsigned winner, unsigned long ns = max_wait_ns) {
        thread_ = std::thread{[this, &of, winner, ns] {
            const registered_thread me{of};
            tid_ = ::gettid();
            do {
                const __u32 slept = read_once(me.entry().slept), timed_out = read_once(me.entry().timed_out);
                error_ = me.wait_for(winner, 1, ns);
                woken_ = read_once(me.entry().slept) != slept && read_once(me.entry().timed_out) == timed_out;
            } while (error_ == ETIMEDOUT);
        }};
    }
    /// Waits until the kernel has taken the thread off its processor. A thread that has only announced its wait checks
    /// once more, and may find that it need not sleep.
    void wait_until_asleep() const {
        while (tid_ == 0) std::this_thread::yield();
        const std::string where = "/proc/self/task/" + std::to_string(tid_) + "/wchan";
        for (std::string function = "0"; function == "0";) {
            std::this_thread::yield();
            function.clear();
            std::ifstream{where} >> function;  // "0" while it runs, nothing once it has ended
        }
    }
    /// Returns 1 if a wake-up ended the thread's wait, instead of its own check. In a slow guest, the checks of some
    /// threads may end their waits, but not all.
    int woken() {
        thread_.join();
        EXPECT_EQ(error_, 0);
        return woken_ ? 1 : 0;
    }

private:
    int error_ = -1;
    bool woken_ = false;
    std::atomic<pid_t> tid_{0};
    std::thread thread_;
};

TEST(serialization, ends_with_the_commit) {
    const device d;
    const registered_thread winner{d};
    int woken = 0;
    for (int i = 0; i < 10; ++i) {
        winner.begin(1);
        sleeper first{d, winner.number()}, second{d, winner.number()};
        first.wait_until_asleep();
        second.wait_until_asleep();
        EXPECT_TRUE(winner.end());
        woken += first.woken() + second.woken();
    }
    EXPECT_GT(woken, 0);
}

TEST(serialization, does_not_sleep_for_an_ended_transaction) {
    const device d;
    const registered_thread winner{d};
    winner.begin(2);
    std::thread{[&] {
        const registered_thread me{d};
        EXPECT_EQ(me.wait_for(winner.number(), 1), 0);
        EXPECT_EQ(read_once(me.entry().slept), 0u);
    }}.join();
}

/// Runs a winner on the second processor and a loser on the first, which conflict in each of `rounds` transactions. The
/// winner begins one and ends it by `end(winner)`. Then the loser does `lose(loser, winner's number, transaction)`.
template <class End, class Lose>
void meet_on_two_processors(const device& d, __u64 rounds, End&& end, Lose&& lose) {
    std::atomic<int> winners_number{-1};
    std::atomic<__u64> begun{0}, back{0};
    std::thread winner{[&] {
        pin_to(1);
        const registered_thread me{d};
        winners_number = static_cast<int>(me.number());
        for (__u64 n = 1; n <= rounds; ++n) {
            me.begin(n);
            begun = n;
            end(me);
            while (back < n) std::this_thread::yield();
            EXPECT_EQ(d.call(TUTTI_WAKE_WAITERS), 0) << "nothing of this round is left for the next";
        }
    }};
    std::thread loser{[&] {
        pin_to(0);
        const registered_thread me{d};
        for (__u64 n = 1; n <= rounds; ++n) {
            while (begun < n) std::this_thread::yield();
            lose(me, static_cast<unsigned>(winners_number), n);
            back = n;
        }
    }};
    winner.join();
    loser.join();
}

// Catches a loser that does not check again after it has announced its wait. A winner that ends just before the
// announcement does not see the loser, and does not wake it. The winner of this test ends right after the announcement,
// but never wakes the loser. A loser that returns without having slept has therefore checked again. The loser need not
// see the end in every round, because the winner's processor may be away.
TEST(serialization, rechecks_after_announcing_its_wait) {
    if (std::thread::hardware_concurrency() < 2) GTEST_SKIP() << "there is one processor";
    const device d;
    unsigned saw_the_end = 0;
    meet_on_two_processors(
        d, 100,
        [](const registered_thread& me) {
            while (read_once(me.entry().waiters) == 0) asm volatile("pause");
            write_once<__u64>(me.entry().running, 0);
        },
        [&](const registered_thread& me, unsigned winner, __u64 n) {
            const __u32 slept = read_once(me.entry().slept);
            const int error = me.wait_for(winner, n, 2'000'000);
            saw_the_end += error == 0 && read_once(me.entry().slept) == slept;
        });
    EXPECT_GT(saw_the_end, 0u);
}

// Catches a loser that does not interrupt its winner's processor, or does so before its announcement. A winner whose
// store is not visible yet has then seen no waiter. The loser therefore sleeps to its limit, except in rounds with
// another interrupt. In a guest that is too slow for the limit, the loser may also reach its limit in a few rounds.
TEST(serialization, interrupts_a_winner_whose_end_may_not_show_yet) {
    if (std::thread::hardware_concurrency() < 2) GTEST_SKIP() << "there is one processor";
    const device d;
    const tutti_range code{address(&end_late_begin), address(&end_late_end)};
    ASSERT_EQ(d.call(TUTTI_ALLOW, &code), 0);
    constexpr unsigned rounds = 100;
    unsigned lost = 0;
    tutti_tick_entry* ticks = nullptr;
    meet_on_two_processors(
        d, rounds,
        [&](const registered_thread& me) {
            if (ticks == nullptr) {
                tutti_tick_register how = tick_registration();
                how.handler = address(&end_late_again);
                how.handler_end = address(&end_late_begin);
                ASSERT_EQ(d.call(TUTTI_TICK_REGISTER, &how), 0);
                ticks = &d.entry(how.number);
                write_once<__u64>(ticks->stack_end, ~__u64{0});
            }
            const bool sees_the_loser = end_late(&me.entry(), ticks) != 0;
            EXPECT_EQ(sees_the_loser ? d.call(TUTTI_WAKE_WAITERS) : 0, 0);
        },
        [&](const registered_thread& me, unsigned winner, __u64 n) {
            const __u32 timed_out = read_once(me.entry().timed_out);
            while (me.wait_for(winner, n) == ETIMEDOUT) {}
            lost += read_once(me.entry().timed_out) != timed_out;
        });
    EXPECT_LE(lost, 2u);
}

// Many rounds run the winner's and the loser's steps in any order. An order of the two tests above seldom occurs.
TEST(serialization, loses_no_wake_up) {
    const device d;
    winner_and_loser pair{d};
    const std::uint64_t rounds = tutti::support::rounds(30'000), sleeps = tutti::support::rounds(100);
    // In a slow kernel, few rounds last until the loser sleeps.
    const auto has_shown_enough = [&] { return pair.rounds() >= rounds && pair.slept() >= sleeps; };
    while (!has_shown_enough() && pair.lost() <= 5) std::this_thread::sleep_for(std::chrono::milliseconds{1});
    pair.stop();
    EXPECT_EQ(pair.errors(), 0u);
    ASSERT_LE(pair.lost(), 5u) << "of " << pair.rounds() << " rounds and " << pair.slept() << " sleeps";
}

TEST(serialization, ends_with_the_winners_thread) {
    const device d;
    int woken = 0;
    for (int i = 0; i < 10; ++i) {
        std::atomic<int> number{-1};
        std::atomic<bool> over{false};
        std::thread winner{[&] {
            registered_thread me{d};
            me.begin(1);
            me.abandon();
            number = static_cast<int>(me.number());
            while (!over) std::this_thread::yield();
        }};
        while (number < 0) std::this_thread::yield();
        sleeper loser{d, static_cast<unsigned>(number)};
        loser.wait_until_asleep();
        over = true;
        winner.join();
        woken += loser.woken();
    }
    EXPECT_GT(woken, 0);
}

TEST(serialization, ends_when_the_winner_unregisters) {
    const device d;
    int woken = 0;
    for (int i = 0; i < 10; ++i) {
        auto winner = std::make_unique<registered_thread>(d);
        winner->begin(1);
        sleeper loser{d, winner->number()};
        loser.wait_until_asleep();
        winner.reset();
        woken += loser.woken();
    }
    EXPECT_GT(woken, 0);
}

struct victim {
    const device* of;
    std::atomic<int> number{-1};
};

// A process of its own that shares the memory, so that SIGKILL ends the winner but not the loser.
TEST(serialization, ends_with_a_winner_that_is_killed) {
    const device d;
    int woken = 0;
    for (int i = 0; i < 10; ++i) {
        victim v{.of = &d};
        std::vector<char> stack(64 * 1024);
        const auto run = [](void* argument) -> int {
            auto& self = *static_cast<victim*>(argument);
            __u32 number = 0;
            if (::ioctl(self.of->fd(), TUTTI_TX_REGISTER, &number) != 0) return 1;
            write_once<__u64>(self.of->transaction(number).running, 1);
            self.number = static_cast<int>(number);
            for (;;) asm volatile("pause");
        };
        const pid_t winner = ::clone(run, stack.data() + stack.size(), CLONE_VM | CLONE_FILES | SIGCHLD, &v);
        ASSERT_GT(winner, 0);
        while (v.number < 0) std::this_thread::yield();
        sleeper loser{d, static_cast<unsigned>(v.number)};
        loser.wait_until_asleep();
        ASSERT_EQ(::kill(winner, SIGKILL), 0);
        woken += loser.woken();
        int status = 0;
        ASSERT_EQ(::waitpid(winner, &status, 0), winner);
        EXPECT_EQ(status, SIGKILL);
    }
    EXPECT_GT(woken, 0);
}

// The winner never clears its entry.
TEST(serialization, has_a_bound) {
    const device d;
    const registered_thread winner{d};
    winner.begin(1);
    std::thread{[&] {
        const registered_thread me{d};
        // In a slow guest, the time may be over before the loser sleeps.
        EXPECT_EQ(me.wait_for(winner.number(), 1, 1'000'000), ETIMEDOUT);
        EXPECT_EQ(me.wait_for(winner.number(), 1), ETIMEDOUT);
        const __u32 slept = read_once(me.entry().slept);
        EXPECT_GE(slept, 1u);
        EXPECT_EQ(read_once(me.entry().timed_out), slept);
        EXPECT_EQ(me.wait_for(winner.number(), 1, max_wait_ns + 1), EINVAL);
        write_once<__u64>(me.entry().deadline_ns, 1);
        EXPECT_EQ(me.wait_for(winner.number(), 1), ETIMEDOUT);
        EXPECT_EQ(read_once(me.entry().slept), slept) << "its deadline has passed";
    }}.join();
}

TEST(serialization, ends_with_a_signal) {
    struct sigaction how{};
    how.sa_handler = [](int) {};
    how.sa_flags = SA_RESTART;
    ASSERT_EQ(::sigaction(SIGUSR1, &how, nullptr), 0);
    const device d;
    const registered_thread winner{d};
    winner.begin(1);
    std::atomic<bool> over{false};
    int error = 0;
    std::thread loser{[&] {
        const registered_thread me{d};
        do error = me.wait_for(winner.number(), 1);
        while (error == ETIMEDOUT);
        over = true;
    }};
    while (read_once(winner.entry().waiters) == 0) std::this_thread::yield();
    while (!over) {
        ::pthread_kill(loser.native_handle(), SIGUSR1);
        std::this_thread::yield();
    }
    loser.join();
    EXPECT_EQ(error, EINTR);
}

TEST(serialization, refuses_invalid_arguments) {
    const device d;
    for (const unsigned long what : std::initializer_list<unsigned long>{TUTTI_TX_UNREGISTER, TUTTI_AWAIT, TUTTI_DEFER,
                                                                         TUTTI_RESUME, TUTTI_WAKE_WAITERS}) {
        EXPECT_EQ(d.call_with(what, 1), ESRCH);
    }
    EXPECT_EQ(d.call(TUTTI_TX_REGISTER, nullptr), EFAULT);
    const registered_thread me{d};
    __u32 number = 0;
    EXPECT_EQ(d.call(TUTTI_TX_REGISTER, &number), EBUSY);
    for (const unsigned long how : std::initializer_list<unsigned long>{TUTTI_AWAIT, TUTTI_DEFER}) {
        EXPECT_EQ(me.wait_for(me.number(), 1, 1000, how), EINVAL) << "for itself";
        EXPECT_EQ(me.wait_for(TUTTI_THREADS, 1, 1000, how), EINVAL);
        EXPECT_EQ(me.wait_for(~0U, 1, 1000, how), EINVAL);
        EXPECT_EQ(me.wait_for(me.number() + 1, 0, 1000, how), EINVAL);
        EXPECT_EQ(me.wait_for(me.number() + 1, 1, 0, how), EINVAL);
        EXPECT_EQ(me.wait_for(me.number() + 1, 1, 1000, how), 0) << "no thread has that entry";
    }
}

TEST(serialization, registers_the_documented_number_of_threads) {
    const device d;
    std::atomic<bool> stop{false};
    std::atomic<unsigned> there{0};
    std::vector<std::thread> all;
    for (unsigned i = 0; i < TUTTI_THREADS; ++i) {
        all.emplace_back([&] {
            const registered_thread me{d};
            ++there;
            while (!stop) std::this_thread::sleep_for(std::chrono::milliseconds{5});
        });
    }
    while (there != TUTTI_THREADS) std::this_thread::yield();
    __u32 number = 0;
    EXPECT_EQ(d.call(TUTTI_TX_REGISTER, &number), ENOSPC);
    stop = true;
    for (std::thread& t : all) t.join();
    const registered_thread late{d};
}

// Each program has its own entries, with the same numbers.
TEST(serialization, keeps_two_programs_apart) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    const auto run = [] {
        const device d;
        winner_and_loser pair{d};
        while (pair.rounds() < 500) std::this_thread::sleep_for(std::chrono::milliseconds{1});
        pair.stop();
        EXPECT_EQ(pair.errors(), 0u);
        EXPECT_LE(pair.lost(), 5u);
        const registered_thread winner{d};
        winner.begin(1);
        std::thread{[&] {
            const registered_thread me{d};
            EXPECT_EQ(me.wait_for(winner.number(), 1, 20'000'000), ETIMEDOUT);
        }}.join();
    };
    run();
    if (child == 0) ::_exit(::testing::Test::HasFailure() ? 1 : 0);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace kernel_test
