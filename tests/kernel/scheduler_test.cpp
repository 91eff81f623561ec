// The sched_ext program, seen from a program that it serves. A waiter leaves the processor, for no longer than
// necessary. A transaction returns time beyond its slice. Garbage harms only its writer.
//
// Guests of the tests named `scheduler` count instructions instead of time, so other work of this machine does not
// show in them. Tests named `processors` need two processors, which use this machine's time, so these tests measure no
// times.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <random>
#include <vector>

#include "kernel/sched_slot_thread.hpp"

namespace scheduler_test {
namespace {

using namespace std::chrono_literals;

// A lost wake-up shows as a wait of 100 ms.
constexpr auto soon = 30ms;

bool wait_for_waiter(const sched_slot_thread& winner) {
    const auto until = now() + 2s;
    while (now() < until) {
        if (read_once(winner.entry().waiters) != 0) return true;
        ::usleep(500);
    }
    return false;
}

/// A thread that has lost to `winner`'s transaction, and waits until it is over, or for a second.
class loser {
public:
    loser(std::uint32_t winner, std::uint64_t transaction) {
        thread_ = std::thread{[=, this] {
            const sched_slot_thread me;
            clock_ = cpu_clock();
            const moment limit = now() + 1s;
            do me.wait_for(winner, transaction);
            while (read_once(own_connection().shared->transactions[winner].running) == transaction && now() < limit);
            back_ = now();
            slept_ = me.entry().slept;
        }};
        while (clock_ == 0) ::usleep(100);
    }
    ~loser() {
        if (thread_.joinable()) thread_.join();
    }
    [[nodiscard]] std::chrono::nanoseconds cpu_time() const { return time_of(clock_); }
    [[nodiscard]] bool is_back() const { return back_.load() != moment{}; }
    moment join() {
        thread_.join();
        return back_;
    }
    [[nodiscard]] std::uint64_t slept() const { return slept_; }

private:
    std::atomic<clockid_t> clock_{0};
    std::atomic<moment> back_{};
    std::atomic<std::uint64_t> slept_{0};
    std::thread thread_;
};

TEST(scheduler, a_loser_is_off_the_processor_until_the_commit) {
    const sched_slot_thread winner;
    for (std::uint64_t i = 1; i <= 10; ++i) {
        winner.begin(i);
        loser one{winner.number(), i}, two{winner.number(), i};
        const bool there = wait_for_waiter(winner);
        ::usleep(2000);
        const auto before = one.cpu_time() + two.cpu_time();
        ::usleep(20'000);
        const auto used = one.cpu_time() + two.cpu_time() - before;
        EXPECT_FALSE(one.is_back() || two.is_back());
        const moment over = now();
        winner.end();
        EXPECT_LT(one.join() - over, soon);
        EXPECT_LT(two.join() - over, soon);
        EXPECT_TRUE(there);
        EXPECT_LT(used, 2ms);
        EXPECT_EQ(one.slept(), 1u);
        if (HasFailure()) break;
    }
}

TEST(scheduler, a_wait_ends_with_the_winners_thread) {
    for (int i = 0; i < 5; ++i) {
        std::atomic<std::uint32_t> number{TUTTI_THREADS};
        std::atomic<bool> end{false};
        std::thread winner{[&] {
            const sched_slot_thread me;
            me.begin(7);
            number = me.number();
            while (!end) ::usleep(500);
            me.abandon();
        }};
        while (number == TUTTI_THREADS) ::usleep(500);
        loser one{number, 7};
        ::usleep(10'000);
        EXPECT_FALSE(one.is_back());
        const moment over = now();
        end = true;
        EXPECT_LT(one.join() - over, soon);
        winner.join();
        if (HasFailure()) break;
    }
}

TEST(scheduler, no_winner_blocks_its_losers_for_long) {
    const sched_slot_thread winner;
    winner.begin(1);
    std::thread{[&] {
        const sched_slot_thread me;
        moment begin = now();
        me.wait_for(winner.number(), 1);
        EXPECT_GE(now() - begin, 95ms);
        EXPECT_LT(now() - begin, 100ms + soon);
        begin = now();
        me.wait_for(winner.number(), 1, 10ms);
        EXPECT_GE(now() - begin, 9ms);
        EXPECT_LT(now() - begin, 10ms + soon);
        EXPECT_EQ(me.entry().timed_out, 2u);
        me.wait_for(me.number(), 1);
        me.wait_for(1'000'000, 1);
        EXPECT_EQ(me.entry().slept, 2u);
    }}.join();
    winner.end();
}

// For the kernel, a waiting thread is not asleep, so the kernel could not wake it for a signal.
TEST(scheduler, a_signal_ends_a_wait) {
    std::signal(SIGUSR1, [](int) {});
    const sched_slot_thread winner;
    winner.begin(1);
    moment back;
    std::thread loser{[&] {
        const sched_slot_thread me;
        me.wait_for(winner.number(), 1);
        back = now();
    }};
    EXPECT_TRUE(wait_for_waiter(winner));
    const moment sent = now();
    ::pthread_kill(loser.native_handle(), SIGUSR1);
    loser.join();
    EXPECT_LT(back - sent, soon);
    winner.end();
}

TEST(scheduler, a_waiting_thread_can_be_killed) {
    int ready[2];
    ASSERT_EQ(::pipe(ready), 0);
    const pid_t child = ::fork();
    if (child == 0) {
        const sched_slot_thread winner;
        winner.begin(1);
        loser one{winner.number(), 1}, two{winner.number(), 1};
        const char answer = wait_for_waiter(winner) ? 'y' : 'n';
        ::usleep(5'000);
        if (::write(ready[1], &answer, 1) != 1) ::_exit(1);
        for (;;) ::pause();
    }
    char answer = 0;
    ASSERT_EQ(::read(ready[0], &answer, 1), 1);
    EXPECT_EQ(answer, 'y');
    const moment killed = now();
    ::kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_LT(now() - killed, soon);
    EXPECT_EQ(WTERMSIG(status), SIGKILL);
}

TEST(scheduler, a_program_has_one_connection) {
    ASSERT_NE(own_connection().shared, nullptr);
    std::string problem;
    EXPECT_EQ(tutti::device::scheduler_connection::connect(problem).shared, nullptr);
    EXPECT_NE(problem.find("File exists"), std::string::npos) << problem;
}

// The thread gets extensions all the time, each of a bounded length, and has to pay for them.
TEST(scheduler, claiming_a_transaction_gains_no_time) {
    std::chrono::nanoseconds longest{0};
    std::uint64_t extensions = 0;
    const double part = share(
        1500ms,
        [&](const std::atomic<bool>& stop) {
            const sched_slot_thread me;
            me.begin(1);
            spin(stop);
            extensions = read_once(me.slot().extended);
            me.end();
            EXPECT_EQ(read_once(me.slot().extended), 0u) << "it has returned the extension";
        },
        [&](const std::atomic<bool>& stop) {
            moment last = now();
            while (!stop) {
                relax();
                longest = std::max<std::chrono::nanoseconds>(longest, now() - last);
                last = now();
            }
        });
    EXPECT_GT(extensions, 10u);
    // A slice and an extension, each up to a tick of 4 ms longer.
    EXPECT_LT(longest, std::chrono::nanoseconds{TUTTI_SLICE_NS + TUTTI_EXTENSION_NS} + 10ms);
    EXPECT_GT(part, 0.45);
    EXPECT_LT(part, 0.55);
}

TEST(scheduler, extends_when_the_transaction_requests_it) {
    const auto extensions_from = [](std::chrono::nanoseconds extend_from) {
        std::uint64_t extensions = 0;
        share(
            300ms,
            [&](const std::atomic<bool>& stop) {
                const sched_slot_thread me;
                write_once(me.entry().extend_from_ns, static_cast<__u64>(extend_from.count()));
                me.begin(1);
                spin(stop);
                extensions = read_once(me.slot().extended);
                me.end();
            },
            spin);
        return extensions;
    };
    EXPECT_GT(extensions_from(now().time_since_epoch()), 5u);
    EXPECT_EQ(extensions_from(now().time_since_epoch() + 1h), 0u);
}

TEST(scheduler, a_deferring_loser_gets_less_time) {
    const sched_slot_thread winner;
    std::atomic<std::uint64_t> running{1};
    winner.begin(1);
    // Each wait lasts at most 100 ms, so this thread loses repeatedly.
    std::atomic<bool> over{false};
    std::thread winners{[&] {
        while (!over) {
            ::usleep(50'000);
            winner.begin(++running);
        }
    }};
    const auto lose = [&](const std::atomic<bool>& stop) {
        const sched_slot_thread me;
        while (!stop) {
            me.request_lower_weight(winner.number(), running);
            relax();
        }
        EXPECT_EQ(read_once(me.entry().slept), 0u);
        me.clear_request();
    };
    EXPECT_LT(share(1s, lose, spin), 0.25);
    over = true;
    winners.join();
    winner.end();
    EXPECT_GT(share(1s, lose, spin), 0.45) << "the winner is over";
}

// The wait ends by itself if the winner does not end.
TEST(scheduler, no_winner_lowers_a_weight_for_long) {
    const sched_slot_thread winner;
    winner.begin(1);
    const auto lose = [&](const std::atomic<bool>& stop) {
        const sched_slot_thread me;
        me.request_lower_weight(winner.number(), 1);
        spin(stop);
        me.clear_request();
    };
    EXPECT_GT(share(1s, lose, spin), 0.3);
    winner.end();
}

/// Writes garbage everywhere in the memory shared with the scheduler, and makes the calls that cause the scheduler to
/// read it.
[[noreturn]] void scribble(std::uint64_t seed) {
    pin_to(0);
    std::mt19937_64 random{seed};
    auto* const words = reinterpret_cast<std::uint64_t*>(own_connection().shared);
    const sched_slot_thread me;
    for (;;) {
        const auto value = random() % 4 == 0 ? random() : random() % 70;
        write_once(words[random() % (sizeof(tutti_shared) / sizeof *words)], value);
        // The thread has a slot in between.
        if (random() % 64 == 0) write_once(me.slot().tid, me.tid());
        if (random() % 64 == 0) relax();
        if (random() % 512 == 0) ::sched_yield();
    }
}

// Another user's process writes garbage on the processor of one of this test's threads, while other threads continue.
TEST(scheduler, garbage_harms_only_its_writer) {
    int ready[2];
    ASSERT_EQ(::pipe(ready), 0);
    const pid_t child = ::fork();
    if (child == 0) {
        char answer = ::setgid(1000) == 0 && ::setuid(1000) == 0 && own_connection().shared != nullptr ? 'y' : 'n';
        // This process dies with its parent, so that it disturbs nothing. (Becoming another user undoes this setting.)
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (::write(ready[1], &answer, 1) != 1 || answer != 'y') ::_exit(1);
        std::thread{[] { scribble(1); }}.detach();
        scribble(2);
    }
    char answer = 0;
    ASSERT_EQ(::read(ready[0], &answer, 1), 1);
    ASSERT_EQ(answer, 'y');

    std::atomic<bool> stop{false};
    std::chrono::nanoseconds took{0};
    std::thread beside{[&] {
        pin_to(0);
        const sched_slot_thread me;
        spin(stop);
        took = time_of(cpu_clock());
    }};
    const moment begin = now();
    const sched_slot_thread winner;
    for (std::uint64_t i = 1; i <= 60; ++i) {
        winner.begin(i);
        loser one{winner.number(), i};
        ::usleep(10'000);
        EXPECT_FALSE(one.is_back());
        EXPECT_EQ(read_once(winner.entry().running), i);
        const moment over = now();
        winner.end();
        EXPECT_LT(one.join() - over, soon);
        EXPECT_EQ(one.slept(), 1u);
        if (HasFailure()) break;
    }
    stop = true;
    beside.join();
    // Its fair share is a third.
    EXPECT_GT(took * 100 / (now() - begin), 27);
    EXPECT_EQ(::waitpid(child, nullptr, WNOHANG), 0) << "it still writes";
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
}

TEST(processors, loses_no_wake_up) {
    const sched_slot_thread winner;
    std::atomic<std::uint64_t> running{0}, seen{0}, slept{0}, timed_out{0};
    std::atomic<bool> stop{false};
    std::thread loser{[&] {
        const sched_slot_thread me;
        std::uint64_t last = 0;
        while (!stop) {
            const std::uint64_t t = running;
            if (t == last) {
                relax();
                continue;
            }
            last = t;
            seen = t;
            me.wait_for(winner.number(), t);
            slept = read_once(me.entry().slept);
            timed_out = read_once(me.entry().timed_out);
        }
    }};
    std::mt19937 random{1};
    // This machine determines how many rounds are too short to sleep in.
    for (std::uint64_t i = 1; i <= 300 || (slept < 100 && i <= 100'000); ++i) {
        winner.begin(i);
        running = i;
        while (seen != i) relax();
        // A random time, from before the loser's call to after the start of its wait.
        for (auto n = random() % (i % 16 == 0 ? 400'000 : 4000); n != 0; --n) asm volatile("");
        winner.end();
    }
    stop = true;
    loser.join();
    EXPECT_GE(slept, 100u);
    // A wait may time out although no wake-up is lost. Then the winner was off its processor until the time limit, or
    // the guest's processor was off this machine's processor.
    EXPECT_LE(timed_out, slept / 10 + 5);
}

/// Lets a thread leave processor 0 twenty times inside this transaction, or outside transactions for 0. Returns how
/// often it comes back on another processor. Another thread always runs on processor 0, and processor 1 is idle.
template <class Leave>
unsigned migrations(std::uint64_t transaction, Leave leave_processor) {
    std::atomic<bool> stop{false};
    std::thread other{[&] {
        pin_to(0);
        spin(stop);
    }};
    unsigned result = 0;
    std::thread{[&] {
        const sched_slot_thread me;
        cpu_set_t all;
        ASSERT_EQ(::sched_getaffinity(0, sizeof all, &all), 0);
        pin_to(0);
        me.begin(transaction);
        ASSERT_EQ(::sched_setaffinity(0, sizeof all, &all), 0);
        for (int i = 0; i < 20; ++i) {
            leave_processor();
            result += ::sched_getcpu() != 0;
        }
        me.end();
    }}.join();
    stop = true;
    other.join();
    return result;
}

/// A thread that has migrated has its processor for itself, so it need not wait for a preemption.
void be_preempted() {
    for (const long turns = turns_ended(); turns_ended() == turns && ::sched_getcpu() == 0;) relax();
}

TEST(processors, an_idle_processor_takes_a_preempted_thread) { EXPECT_GT(migrations(0, be_preempted), 0u); }

TEST(processors, a_preempted_thread_does_not_migrate_inside_a_transaction) {
    EXPECT_EQ(migrations(1, be_preempted), 0u);
}

TEST(processors, a_woken_thread_does_not_migrate_inside_a_transaction) {
    EXPECT_EQ(migrations(1, [] { ::usleep(1000); }), 0u);
}

}  // namespace
}  // namespace scheduler_test
