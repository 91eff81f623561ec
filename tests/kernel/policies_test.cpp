// serialize-kernel and serialize-soft-kernel with the loaded module: the entries that the library shows, the places of
// losers, and correct sums. The same tests run under the sched_ext program. serialization_test.cpp and
// scheduler_test.cpp test the module and the scheduler themselves.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "kernel/sharing.hpp"
#include "kernel/uapi.h"
#include "support/worker_group.hpp"
#include "tutti/tutti.hpp"

namespace {

using tutti::options;
using tutti::policy;

/// Returns the page that the library shares with the module or the scheduler, or null if it does not exist.
tutti_transaction* transactions() {
    std::ifstream maps{"/proc/self/maps"};
    for (std::string line; std::getline(maps, line);) {
        const auto has = [&](const char* what) { return line.find(what) != std::string::npos; };
        if (!(has(TUTTI_DEVICE) && has(" 00001000 ")) && !has("bpf-map")) continue;
        return reinterpret_cast<tutti_transaction*>(std::strtoull(line.c_str(), nullptr, 16));
    }
    return nullptr;
}

/// Returns the sum over all entries.
template <class T>
std::uint64_t sum(T tutti_transaction::* field, tutti_transaction* all = transactions()) {
    std::uint64_t result = 0;
    for (unsigned i = 0; all != nullptr && i < TUTTI_THREADS; ++i) {
        result += static_cast<std::uint64_t>(std::atomic_ref<T>{all[i].*field}.load());
    }
    return result;
}

void wait_until(const std::function<bool()>& done) {
    while (!done()) std::this_thread::yield();
}

class kernel_policies_test : public testing::Test {
    void SetUp() override {
        if (std::getenv("TUTTI_TEST_KERNEL") == nullptr) GTEST_SKIP() << "this machine has no module to test with";
    }
};

/// Runs a block that writes `x`, waits until `is_waited_for()` returns true, and calls `then`. Meanwhile a second
/// block, the loser, adds 10 to `x`. Returns the loser's number of attempts.
unsigned meet(policy under, tutti::var<long>& x, const std::function<void(tutti::tx&)>& then,
              const std::function<bool()>& is_waited_for, bool throws = false) {
    std::atomic<bool> written{false};
    unsigned attempts = 0;
    std::thread winner{[&] {
        const auto body = [&](tutti::tx& t) {
            x.set(t, x.get(t) + 1);
            written = true;
            wait_until(is_waited_for);
            then(t);
        };
        if (throws) EXPECT_THROW(tutti::atomically({.policy = under}, body), std::runtime_error);
        else tutti::atomically({.policy = under}, body);
    }};
    std::thread loser{[&] {
        wait_until([&] { return written.load(); });
        tutti::atomically({.policy = under}, [&](tutti::tx& t) {
            ++attempts;
            x.set(t, x.get(t) + 10);
        });
    }};
    winner.join();
    loser.join();
    return attempts;
}

bool one_awaits() { return sum(&tutti_transaction::awaited) != 0 && sum(&tutti_transaction::waiters) != 0; }

TEST_F(kernel_policies_test, a_loser_sleeps_in_the_kernel_until_the_commit) {
    tutti::var<long> x{0};
    const unsigned attempts = meet(policy::serialize_kernel, x, [](tutti::tx&) {}, one_awaits);
    EXPECT_EQ(x.load(), 11);
    EXPECT_EQ(attempts, 2u);
    EXPECT_EQ(sum(&tutti_transaction::running), 0u);
}

// The winner starts over, and its loser keeps sleeping.
TEST_F(kernel_policies_test, a_loser_sleeps_through_the_winners_restarts) {
    tutti::var<long> x{0};
    std::atomic<int> restarts{0};
    const unsigned attempts = meet(
        policy::serialize_kernel, x,
        [&](tutti::tx& t) {
            if (++restarts < 20) tutti::restart(t);
        },
        one_awaits);
    EXPECT_EQ(x.load(), 11);
    EXPECT_EQ(restarts, 20);
    EXPECT_EQ(attempts, 2u);
}

TEST_F(kernel_policies_test, a_loser_wakes_when_the_winner_aborts) {
    tutti::var<long> x{0};
    meet(policy::serialize_kernel, x, [](tutti::tx&) { throw std::runtime_error{"given up"}; }, one_awaits, true);
    EXPECT_EQ(x.load(), 10);
}

TEST_F(kernel_policies_test, the_entry_shows_priority_and_deadline) {
    tutti::var<long> x{0};
    tutti::atomically({.policy = policy::serialize_kernel, .priority = -7}, [&](tutti::tx& t) {
        x.set(t, 1);
        EXPECT_EQ(static_cast<__s32>(sum(&tutti_transaction::priority)), -7);
        EXPECT_EQ(sum(&tutti_transaction::deadline_ns), 0u);
        EXPECT_NE(sum(&tutti_transaction::running), 0u);
    });
    tutti::atomically({.policy = policy::serialize_kernel, .deadline = std::chrono::hours{1}}, [&](tutti::tx& t) {
        x.set(t, 2);
        EXPECT_NE(sum(&tutti_transaction::deadline_ns), 0u);
    });
}

TEST_F(kernel_policies_test, a_loser_runs_at_a_lower_weight_until_the_commit) {
    tutti::var<long> x{0};
    for (int i = 0; i < 5; ++i) {
        meet(
            policy::serialize_soft_kernel, x, [](tutti::tx&) {},
            [] { return sum(&tutti_transaction::deferring) != 0; });
        EXPECT_EQ(sum(&tutti_transaction::deferring), 0u);
    }
    EXPECT_EQ(x.load(), 55);
}

TEST_F(kernel_policies_test, keep_every_increment) {
    for (const policy p : {policy::serialize_kernel, policy::serialize_soft_kernel}) {
        tutti::var<long> first{0}, second{0};
        constexpr long rounds = 1000;
        tutti::support::run_threads(4, [&](unsigned me) {
            for (long i = 0; i < rounds; ++i) {
                tutti::atomically({.policy = p}, [&](tutti::tx& t) {
                    tutti::var<long>& from = me % 2 == 0 ? first : second;
                    tutti::var<long>& to = me % 2 == 0 ? second : first;
                    from.set(t, from.get(t) + 1);
                    to.set(t, to.get(t) + 1);
                });
            }
        });
        EXPECT_EQ(first.load(), 4 * rounds);
        EXPECT_EQ(second.load(), 4 * rounds);
    }
    EXPECT_EQ(sum(&tutti_transaction::running), 0u);
}

// Threads without an entry are serialized as well.
TEST_F(kernel_policies_test, serve_more_threads_than_there_are_entries) {
    tutti::var<long> x{0};
    constexpr unsigned threads = TUTTI_THREADS + 6;
    tutti::support::run_threads(threads, [&](unsigned) {
        for (int i = 0; i < 20; ++i) {
            tutti::atomically({.policy = policy::serialize_kernel}, [&](tutti::tx& t) { x.set(t, x.get(t) + 1); });
        }
    });
    EXPECT_EQ(x.load(), 20 * threads);
}

// The child has none of its parent's entries, and gets its own.
TEST_F(kernel_policies_test, work_in_the_child_of_a_fork) {
    tutti::var<long> x{0};
    const auto one_more = [&](policy p) {
        tutti::atomically({.policy = p}, [&](tutti::tx& t) { x.set(t, x.get(t) + 1); });
    };
    one_more(policy::serialize_kernel);
    for (const policy p : {policy::serialize_kernel, policy::serialize_soft_kernel}) {
        pid_t child = -1;
        tutti::atomically({.policy = p}, [&](tutti::tx& t) {
            x.set(t, x.get(t) + 1);
            if (child < 0) child = ::fork();
        });
        if (child == 0) {
            for (int i = 0; i < 100; ++i) one_more(p);
            tutti::var<long> y{0};
            const unsigned attempts = meet(policy::serialize_kernel, y, [](tutti::tx&) {}, one_awaits);
            ::_exit(attempts == 2 && y.load() == 11 && ::getpriority(PRIO_PROCESS, 0) == 0 ? 0 : 1);
        }
        int status = 0;
        ASSERT_EQ(::waitpid(child, &status, 0), child);
        EXPECT_EQ(status, 0);
    }
    EXPECT_EQ(x.load(), 3);
}

/// Runs one block after another, nearly all the time, on one processor beside a thread that never yields, until 20 time
/// slices have ended. Returns the number of slices that were extended for a block.
std::uint64_t run_beside_another(const options& how) {
    std::atomic<bool> stop{false};
    std::uint64_t extended = 0;
    std::thread other{[&] {
        kernel_test::pin_to(0);
        while (!stop) asm volatile("");
    }};
    std::thread{[&] {
        kernel_test::pin_to(0);
        tutti::var<long> x{0};
        tutti::atomically({.policy = policy::serialize_kernel}, [&](tutti::tx& t) { x.set(t, 1); });
        tutti_transaction* const all = transactions();
        ASSERT_NE(all, nullptr);
        const std::uint64_t before = sum(&tutti_transaction::extended, all);
        while (kernel_test::turns_ended() < 20) {
            tutti::atomically(how, [&](tutti::tx& t) {
                x.set(t, x.get(t) + 1);
                for (int i = 0; i < 20'000; ++i) asm volatile("");
            });
            ASSERT_EQ(sum(&tutti_transaction::running, all), 0u);
            ASSERT_EQ(sum(&tutti_transaction::waiters, all), 0u) << "it has not returned the extension";
        }
        extended = sum(&tutti_transaction::extended, all) - before;
    }}.join();
    stop = true;
    other.join();
    return extended;
}

// The kernel extends the time slice, and the commit returns the extra time.
TEST_F(kernel_policies_test, a_near_deadline_keeps_the_processor) {
    if (std::getenv("TUTTI_TEST_SCHEDULER") != nullptr) GTEST_SKIP() << "the scheduler counts by itself";
    EXPECT_GT(run_beside_another({.policy = policy::deadline, .deadline = std::chrono::milliseconds{10}}), 5u);
}

TEST_F(kernel_policies_test, no_deadline_or_a_far_one_keeps_no_processor) {
    EXPECT_EQ(run_beside_another({.policy = policy::deadline}), 0u);
    EXPECT_EQ(run_beside_another({.policy = policy::deadline, .deadline = std::chrono::hours{1}}), 0u);
}

// Without a device: one message, and the policies of user space.
TEST(kernel_policies_without_device, wait_in_user_space_and_report_it_once) {
    if (std::getenv("TUTTI_TEST_NO_DEVICE") == nullptr) GTEST_SKIP() << "there may be a device here";
    testing::internal::CaptureStderr();
    tutti::var<long> x{0};
    for (const policy p : {policy::serialize_kernel, policy::serialize_soft_kernel}) {
        tutti::support::run_threads(4, [&](unsigned) {
            for (int i = 0; i < 500; ++i) {
                tutti::atomically({.policy = p}, [&](tutti::tx& t) { x.set(t, x.get(t) + 1); });
            }
        });
    }
    EXPECT_EQ(x.load(), 4000);
    const std::string output = testing::internal::GetCapturedStderr();
    std::fputs(output.c_str(), stdout);
    EXPECT_EQ(output.find("tutti: losers of conflicts wait in user space, not in the kernel: "), 0u) << output;
    EXPECT_EQ(output.find('\n'), output.size() - 1) << output;
    EXPECT_EQ(transactions(), nullptr);
}

// Without a device: one message, which also says why the kernel does not extend slices by itself. Either the kernel has
// no slice extension, or the extension is off, or the C library is too old for it.
TEST(kernel_policies_without_device, extend_no_turn_and_report_it_once) {
    if (std::getenv("TUTTI_TEST_NO_DEVICE") == nullptr) GTEST_SKIP() << "there may be a device here";
    testing::internal::CaptureStderr();
    tutti::var<long> x{0};
    for (const auto in : {std::chrono::nanoseconds{std::chrono::hours{1}}, std::chrono::nanoseconds{1}}) {
        tutti::support::run_threads(4, [&](unsigned) {
            for (int i = 0; i < 100; ++i) {
                tutti::atomically({.policy = policy::deadline, .deadline = in},
                                  [&](tutti::tx& t) { x.set(t, x.get(t) + 1); });
            }
        });
    }
    EXPECT_EQ(x.load(), 800);
    const std::string output = testing::internal::GetCapturedStderr();
    std::fputs(output.c_str(), stdout);
    EXPECT_EQ(output.find("tutti: time slices are not extended for deadlines: " TUTTI_DEVICE), 0u) << output;
    EXPECT_TRUE(output.find("; this kernel has no slice extension") != std::string::npos ||
                output.find("; slice extension is off, or this C library too old for it") != std::string::npos)
        << output;
    EXPECT_EQ(output.find('\n'), output.size() - 1) << output;
}

}  // namespace
