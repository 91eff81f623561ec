// The winner, the waiter, and the longest wait, for every policy of the table.
#include "core/ports/policy.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <latch>
#include <thread>
#include <vector>

#include "base/scheduling.hpp"
#include "core/conflict/contention_rank.hpp"
#include "core/lifecycle/registry.hpp"
#include "core/ports/algorithm.hpp"
#include "core/state/sleepers.hpp"
#include "core/waiting/waiting.hpp"
#include "policies/table.hpp"
#include "support/effort.hpp"
#include "support/worker_group.hpp"
#include "tutti/tutti.hpp"

namespace {
thread_local unsigned yields = 0;
}

/// Replaces the C library's function.
extern "C" int sched_yield() noexcept {
    ++yields;
    return static_cast<int>(syscall(SYS_sched_yield));
}

namespace tutti::core {
namespace {

using policies::all;

tutti::policy number_of(const policy& p) {
    const auto at = std::ranges::find(all(), &p);
    return static_cast<tutti::policy>(at - all().begin() + 1);
}

TEST(policies, have_a_table_in_enumeration_order) {
    EXPECT_EQ(policies::number(tutti::policy::patient).name, "patient");
    EXPECT_EQ(policies::number(tutti::policy::serialize_soft).name, "serialize-soft");
    EXPECT_EQ(static_cast<std::size_t>(tutti::policy::serialize_soft_kernel), all().size());
}

TEST(policies, list_the_valid_names_for_an_unknown_one) {
    const std::string before{policy_in_force()};
    try {
        use_policy("polite");
        FAIL() << "accepted";
    } catch (const usage_error& e) {
        for (const policy* p : all()) EXPECT_NE(std::string{e.what()}.find(p->name), std::string::npos) << p->name;
    }
    EXPECT_EQ(policy_in_force(), before);
}

TEST(policies, are_chosen_by_name) {
    const std::string before{policy_in_force()};
    for (const auto& [name, summary] : available_policies()) {
        use_policy(name);
        EXPECT_EQ(policy_in_force(), name);
        EXPECT_FALSE(summary.empty());
    }
    use_policy(before);
}

TEST(policies, have_a_listener_if_they_handle_start) {
    const std::string before{policy_in_force()};
    use_policy("patient");
    const std::uint32_t quiet = listeners.load(std::memory_order_relaxed);
    for (const policy* p : all()) {
        const std::uint32_t expected = quiet + (p->start != nullptr ? 1 : 0);
        use_policy(p->name);
        EXPECT_EQ(listeners.load(std::memory_order_relaxed), expected) << p->name;
        use_policy(p->name);
        EXPECT_EQ(listeners.load(std::memory_order_relaxed), expected) << p->name;
    }
    use_policy(before);
}

// Many threads, few variables, some visible readers: under every policy, none hangs and no update is lost.
TEST(policies, keep_every_increment) {
    constexpr unsigned threads = 6;
    const long rounds = static_cast<long>(support::rounds(2000));
    for (const policy* p : all()) {
        SCOPED_TRACE(p->name);
        var<long> first, second;
        support::run_threads(threads, [&](unsigned me) {
            const options how{.mode = me % 3 == 0 ? mode::visible : mode::optimistic,
                              .policy = number_of(*p),
                              .priority = static_cast<int>(me % 2)};
            var<long>& from = me % 2 == 0 ? first : second;
            var<long>& to = me % 2 == 0 ? second : first;
            for (long i = 0; i < rounds; ++i) {
                atomically(how, [&](tx& t) {
                    from.set(t, from.get(t) + 1);
                    to.set(t, to.get(t) + 1);
                });
            }
        });
        EXPECT_EQ(first.load(), threads * rounds);
        EXPECT_EQ(second.load(), threads * rounds);
    }
}

/// Returns the number of attempts, up to `most`, of a block under `p` that loses whenever it can.
unsigned attempts_of_a_loser(const policy& p, bool read_only, unsigned most) {
    var<int> x, y;
    unsigned attempts = 0;
    atomically({.read_only = read_only, .policy = number_of(p)}, [&](tx& t) {
        ++attempts;
        static_cast<void>(x.get(t));
        // An irrevocable block would make the other transaction wait, while the block waits for the other thread.
        if (attempts < most && !descriptor::of(t).is_irrevocable()) {
            std::thread{[&] {
                atomically([&](tx& o) {
                    x.set(o, x.get(o) + 1);
                    y.set(o, x.get(o));
                });
            }}.join();
        }
        EXPECT_EQ(x.get(t), y.get(t));
        if (!read_only) x.set(t, x.get(t));
    });
    return attempts;
}

// Runs under every algorithm that lets two transactions run at once.
TEST(policies, bound_the_restarts_of_a_constant_loser) {
    for (const policy* p : all()) {
        for (const bool read_only : {false, true}) {
            SCOPED_TRACE(testing::Message() << p->name << (read_only ? ", read-only" : ""));
            if (read_only && attach().algorithm->begin_snapshot != nullptr) {
                EXPECT_LE(attempts_of_a_loser(*p, read_only, 1000), 3U) << "the block reads a snapshot";
            } else if (p->bounded) {
                EXPECT_EQ(attempts_of_a_loser(*p, read_only, 1000), defeats_to_last_resort + 1);
            } else {
                // Without a bound, the block loses every time. So it is the bound that ends the block in the other
                // case.
                EXPECT_EQ(attempts_of_a_loser(*p, read_only, 100), 100U);
            }
        }
    }
}

// The block has not lost to another block, so it must not pause. A pause would draw a random number or yield the
// processor.
TEST(policies, restart_at_once_on_request) {
    descriptor& d = attach();
    for (const policy* p : all()) {
        SCOPED_TRACE(p->name);
        var<unsigned> x;
        const std::uint64_t random = d.random;
        const unsigned yields_before = yields;
        atomically({.policy = number_of(*p)}, [&](tx& t) {
            x.set(t, t.attempt());
            if (t.attempt() < 100) restart(t);
        });
        EXPECT_EQ(x.load(), 100U);
        EXPECT_EQ(d.random, random);
        EXPECT_EQ(yields, yields_before);
    }
}

TEST(policies, restart_only_the_inner_transaction) {
    var<unsigned> outside, inside;
    unsigned runs = 0;
    atomically([&](tx& t) {
        outside.set(t, t.attempt());
        open_nested(
            t,
            [&](tx& i) {
                inside.set(i, i.attempt());
                if (++runs < 100) restart(i);
            },
            [](tx&) {});
    });
    EXPECT_EQ(outside.load(), 1U);
    EXPECT_EQ(inside.load(), 100U);
}

TEST(policies, still_restart_in_the_last_resort) {
    var<int> x, gate;
    unsigned attempts = 0;
    bool seen = false;
    std::thread opener;
    atomically([&](tx& t) {
        ++attempts;
        EXPECT_FALSE(t.irrevocable());
        if (descriptor::of(t).is_irrevocable() && !seen) {
            seen = true;
            t.become_visible();  // no error: the mode is already stricter
            opener = std::thread{[&] { gate.store(1); }};
        }
        if (seen && gate.get(t) == 0) retry(t);
        static_cast<void>(x.get(t));
        if (!seen) std::thread{[&] { atomically([&](tx& o) { x.set(o, x.get(o) + 1); }); }}.join();
        x.set(t, x.get(t));
    });
    opener.join();
    EXPECT_TRUE(seen);
    EXPECT_GT(attempts, defeats_to_last_resort);
}

/// Two transactions: `second` needs an orec that `first` owns, while `first` is running. The outcome says which one was
/// rolled back.
struct outcome {
    unsigned first_attempts = 0;
};
outcome resolve_conflict(const options& first, const options& second) {
    var<int> x;
    outcome o;
    std::latch owned{1};
    std::atomic<unsigned> second_attempts{0};
    std::thread other{[&] {
        owned.wait();
        atomically(second, [&](tx& t) {
            ++second_attempts;
            x.set(t, 2);
        });
    }};
    atomically(first, [&](tx& t) {
        if (++o.first_attempts > 1) return;
        descriptor& d = descriptor::of(t);
        wake_sleepers(d);  // clears the mark that an earlier sleeper may have left
        x.set(t, 1);
        owned.count_down();
        // Waits until this transaction is killed or the other one is rolled back. After its roll-back, the other
        // transaction sleeps until this one ends, or starts over.
        while (!d.kill_requested() && (d.sleepers.load(std::memory_order_relaxed) & 1) == 0 && second_attempts < 2) {
            std::this_thread::yield();
        }
        static_cast<void>(x.get(t));
    });
    other.join();
    return o;
}

TEST(policies, let_the_higher_priority_kill) {
    constexpr auto p = tutti::policy::priority;
    EXPECT_EQ(resolve_conflict({.policy = p, .priority = 1}, {.policy = p, .priority = 2}).first_attempts, 2U);
    EXPECT_EQ(resolve_conflict({.policy = p, .priority = 2}, {.policy = p, .priority = 1}).first_attempts, 1U);
    EXPECT_EQ(resolve_conflict({.policy = p, .priority = 0}, {.policy = p, .priority = -1}).first_attempts, 1U);
}

TEST(policies, kill_under_aggressive_and_not_under_suicide) {
    EXPECT_EQ(resolve_conflict({}, {.policy = tutti::policy::aggressive}).first_attempts, 2U);
    EXPECT_EQ(resolve_conflict({}, {.policy = tutti::policy::suicide}).first_attempts, 1U);
}

TEST(wait_for_commit_test, outlives_the_winners_restarts) {
    var<int> x;
    std::latch begun{1}, lost{1};
    descriptor* winner = nullptr;
    word state = 0;
    std::atomic<bool> committed{false};
    std::thread runner{[&] {
        unsigned attempts = 0;
        atomically([&](tx& t) {
            static_cast<void>(x.get(t));
            if (++attempts == 1) {
                winner = &descriptor::of(t);
                state = winner->state.load(std::memory_order_relaxed);
                begun.count_down();
                lost.wait();
            }
            if (attempts < 4) std::thread{[&] { x.store(static_cast<int>(attempts)); }}.join();
            x.set(t, x.get(t) + 1);
            if (attempts == 4) committed = true;
        });
    }};
    begun.wait();
    descriptor& self = attach();
    std::thread late{[&] { lost.count_down(); }};
    wait_for_commit(self, *winner, state, false);
    EXPECT_TRUE(committed);
    late.join();
    runner.join();
}

TEST(wait_for_commit_test, ends_when_the_winner_fails) {
    var<int> x;
    std::latch begun{1}, proceed{1};
    descriptor* winner = nullptr;
    word state = 0;
    std::thread runner{[&] {
        EXPECT_THROW(atomically([&](tx& t) {
                         winner = &descriptor::of(t);
                         state = winner->state.load(std::memory_order_relaxed);
                         begun.count_down();
                         proceed.wait();
                         throw std::runtime_error{"dead"};
                     }),
                     std::runtime_error);
        // The thread stays, and runs transactions that the waiting thread must not wait for.
        for (int i = 0; i < 1000; ++i) atomically([&](tx& t) { x.set(t, i); });
    }};
    begun.wait();
    proceed.count_down();
    wait_for_commit(attach(), *winner, state, true);
    runner.join();
}

TEST(wait_for_commit_test, ends_when_the_winner_sleeps_in_retry) {
    var<bool> open;
    std::latch begun{1}, proceed{1};
    descriptor* winner = nullptr;
    word state = 0;
    std::thread runner{[&] {
        unsigned attempts = 0;
        atomically([&](tx& t) {
            if (++attempts == 1) {
                winner = &descriptor::of(t);
                state = winner->state.load(std::memory_order_relaxed);
                begun.count_down();
                proceed.wait();
            }
            if (!open.get(t)) tutti::retry(t);
        });
    }};
    begun.wait();
    proceed.count_down();
    wait_for_commit(attach(), *winner, state, false);
    open.store(true);
    runner.join();
}

TEST(scheduling, restores_a_lowered_priority) {
    std::thread{[] {
        const std::optional<int> nice = base::lower_priority();
        if (!nice) return;  // not allowed here; the priority is unchanged
        base::restore_priority(base::thread_number(), *nice);
        EXPECT_EQ(base::lower_priority(), nice);
    }}.join();
}

}  // namespace
}  // namespace tutti::core
