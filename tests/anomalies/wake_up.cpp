// The counterpart of lost_wake_up.cpp: threads that are woken needlessly, and the meaning of a time limit.
//
// Catches an engine that wakes every sleeper at every commit, and one whose timed wait never returns or never waits.
// Catches an engine that waits in an alternative although there is another one.
#include "anomalies/flavour.hpp"

namespace tutti::anomalies {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

class wake_up_test : public suite {};

// The sleeper's body runs once before the wait and once after it. An unrelated commit while the sleeper goes to sleep
// may cost one more run, but not every commit may.
TEST_F(wake_up_test, ignores_unrelated_commits) {
    const std::size_t unrelated = rounds(5000);
    var<long> awaited{0};
    std::array<var<long>, 64> others{};
    std::atomic<unsigned> executions{0};
    run_threads(2, [&](unsigned me) {
        if (me == 0) {
            atomically([&](tx& t) {
                executions.fetch_add(1);
                if (awaited.get(t) == 0) retry(t);
            });
        } else {
            while (executions.load() == 0) std::this_thread::yield();
            for (std::size_t i = 0; i < unrelated; ++i) {
                atomically([&](tx& t) { others[i % others.size()].set(t, static_cast<long>(i)); });
                // Lets a wrongly woken sleeper run and be counted.
                if (i % 64 == 0) std::this_thread::yield();
            }
            awaited.store(1);
        }
    });
    EXPECT_GE(executions.load(), 2u);
    EXPECT_LE(executions.load(), 4u);
}

TEST_F(wake_up_test, reaches_the_alternative_that_can_continue) {
    var<int> a{0}, b{0};
    std::atomic<unsigned> executions{0};
    int chosen = 0;
    run_threads(2, [&](unsigned me) {
        if (me == 1) {
            while (executions.load() == 0) std::this_thread::yield();
            b.store(1);
            return;
        }
        chosen = atomically([&](tx& t) {
            executions.fetch_add(1);
            return or_else(
                t,
                [&](tx& first) {
                    if (a.get(first) == 0) retry(first);
                    return 1;
                },
                [&](tx& second) {
                    if (b.get(second) == 0) retry(second);
                    return 2;
                });
        });
    });
    EXPECT_EQ(chosen, 2);
}

// The first alternative that does not retry wins, even if a later one could continue. The writes of the others are
// undone.
TEST_F(wake_up_test, is_not_needed_if_an_alternative_continues) {
    var<int> trace{0};
    const auto refuse = [&](tx& t) -> int {
        trace.set(t, trace.get(t) + 100);
        retry(t);
    };
    const int chosen = atomically([&](tx& t) {
        trace.set(t, 1);
        return or_else(
            t, refuse,
            [&](tx& u) {
                return or_else(u, refuse, refuse, [&](tx& v) {
                    trace.set(v, trace.get(v) + 1);
                    return 3;
                });
            },
            [](tx&) { return 4; });
    });
    EXPECT_EQ(chosen, 3);
    EXPECT_EQ(trace.load(), 2);
}

// Time is bounded only from below: the system decides when a thread gets the processor.
TEST_F(wake_up_test, comes_at_the_limit) {
    var<int> never{0}, written{0};
    const auto start = steady_clock::now();
    const bool timed_out = atomically([&](tx& t) {
        if (never.get(t) == 0) {
            retry_for(t, milliseconds{20});
            written.set(t, 1);
            return true;
        }
        return false;
    });
    EXPECT_TRUE(timed_out);
    EXPECT_EQ(written.load(), 1);
    EXPECT_GE(steady_clock::now() - start, milliseconds{19});
}

TEST_F(wake_up_test, comes_at_the_limit_without_any_read) {
    const auto start = steady_clock::now();
    unsigned executions = 0;
    atomically([&](tx& t) {
        ++executions;
        retry_for(t, milliseconds{10});
    });
    EXPECT_GE(steady_clock::now() - start, milliseconds{9});
    EXPECT_GE(executions, 2u);
}

// Irrelevant changes of the variables that were read do not prolong the wait: one limit covers all restarts.
TEST_F(wake_up_test, has_one_limit_for_all_restarts) {
    var<long> beat{0};
    std::atomic<bool> done{false};
    run_threads(2, [&](unsigned me) {
        if (me == 0) {
            atomically([&](tx& t) {
                if (beat.get(t) >= 0) retry_for(t, milliseconds{20});
            });
            done = true;
        } else {
            while (!done.load()) beat.store(beat.load() + 1);
        }
    });
    SUCCEED();  // the test is that the wait ends
}

// There is another alternative, so the block does not wait, even with a limit of an hour.
TEST_F(wake_up_test, starts_the_next_alternative_at_the_limit) {
    var<int> never{0};
    const int chosen = atomically([&](tx& t) {
        return or_else(
            t,
            [&](tx& first) {
                if (never.get(first) == 0) retry_for(first, std::chrono::hours{1});
                return 1;
            },
            [](tx&) { return 2; });
    });
    EXPECT_EQ(chosen, 2);
}

// A limit in the last alternative counts, and ends the wait of all alternatives.
TEST_F(wake_up_test, waits_for_the_limit_of_the_last_alternative) {
    var<int> never{0};
    const int chosen = atomically([&](tx& t) {
        return or_else(
            t,
            [&](tx& first) -> int {
                (void)never.get(first);
                retry(first);
            },
            [&](tx& last) {
                if (never.get(last) == 0) retry_for(last, milliseconds{5});
                return 2;
            });
    });
    EXPECT_EQ(chosen, 2);
}

// A limit that ends immediately does not affect the limit of the next block.
TEST_F(wake_up_test, uses_a_new_limit_in_every_block) {
    using std::chrono::milliseconds, std::chrono::steady_clock;
    var<int> v{0};
    atomically([&](tx& t) {
        (void)v.get(t);
        retry_for(t, milliseconds{0});
    });
    const auto later = steady_clock::now() + milliseconds{5};
    while (steady_clock::now() < later) std::this_thread::yield();
    const unsigned attempts = atomically([&](tx& t) {
        (void)v.get(t);
        retry_for(t, milliseconds{5});
        return t.attempt();
    });
    EXPECT_EQ(attempts, 2u) << "it returned without having waited";
}

}  // namespace
}  // namespace tutti::anomalies
