// Blocks that run in hardware, as users see them: the same results as other blocks, and counters for the reasons of
// their switch to software.
//
// Runs on the library with faults, whose hardware is src/hardware/software_htm.hpp; one suite runs on the processor.
// Catches a deferred call that is made before the commit, and an attempt that stays in hardware although it must not.
// Catches a hardware commit that breaks an invariant, and a block that repeatedly tries hardware in vain.
// `TUTTI_SOFTWARE_HTM` sets the rate of spontaneous failures, which is zero in the first suite.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <string>

#include "support/effort.hpp"
#include "support/worker_group.hpp"
#include "tutti/tutti.hpp"

namespace tutti {
namespace {

using support::rounds;

site_statistics statistics_of(std::string_view name) {
    for (site_statistics& s : statistics()) {
        if (s.name == name) return std::move(s);
    }
    return {};
}

std::uint64_t count_of(const site_statistics& s, hardware_abort why) {
    return s.hardware_aborts[static_cast<std::size_t>(why)];
}
std::uint64_t total_count(const site_statistics& s) {
    std::uint64_t sum = 0;
    for (const std::uint64_t n : s.hardware_aborts) sum += n;
    return sum;
}

class counted : public testing::Test {
protected:
    counted() {
        enable_statistics(true);
        reset_statistics();
    }
    ~counted() override { enable_statistics(false); }
};

class htm_blocks : public counted {};

TEST_F(htm_blocks, runs_a_block) {
    var<int> x{1};
    var<int> y{0};
    for (int i = 0; i < 10; ++i) atomically({.name = "runs"}, [&](tx& t) { y.set(t, y.get(t) + x.get(t)); });
    EXPECT_EQ(y.load(), 10);
    EXPECT_EQ(atomically({.name = "reads", .read_only = true}, [&](tx& t) { return x.get(t) + y.get(t); }), 11);
    EXPECT_EQ(statistics_of("runs").hardware_commits, 10U);
    EXPECT_EQ(statistics_of("runs").commits, 10U);
    EXPECT_EQ(statistics_of("reads").hardware_commits, 1U);
    EXPECT_EQ(total_count(statistics_of("runs")), 0U);
}

TEST_F(htm_blocks, continues_in_software_after_a_capacity_abort) {
    std::vector<var<int>> many(100);
    const auto write_all = [&](tx& t) {
        for (var<int>& v : many) v.set(t, v.get(t) + 1);
    };
    atomically({.name = "large"}, write_all);
    EXPECT_EQ(many.front().load(), 1);
    EXPECT_EQ(many.back().load(), 1);
    const site_statistics s = statistics_of("large");
    EXPECT_EQ(count_of(s, hardware_abort::capacity), 1U);  // another try would fail as well
    EXPECT_EQ(s.hardware_commits, 0U);
    EXPECT_EQ(s.commits, 1U);
}

TEST_F(htm_blocks, makes_deferred_calls_after_its_commit) {
    var<int> x{0};
    int seen = -1;
    atomically({.name = "deferred call"}, [&](tx& t) {
        x.set(t, 7);
        t.on_commit([&] { seen = x.load(); });
    });
    EXPECT_EQ(seen, 7);
    EXPECT_EQ(statistics_of("deferred call").hardware_commits, 1U);
}

TEST_F(htm_blocks, leaves_before_a_call_that_needs_undo) {
    var<int> x{0};
    int calls = 0;
    int undone = 0;
    atomically({.name = "system call"}, [&](tx& t) {
        x.set(t, x.get(t) + 1);
        t.on_abort([&](abort_cause) { ++undone; });
        ++calls;  // never in hardware, so it is called once
    });
    EXPECT_EQ(calls, 1);
    EXPECT_EQ(undone, 0);  // the hardware attempt left no handler registered
    const site_statistics s = statistics_of("system call");
    EXPECT_EQ(count_of(s, hardware_abort::system_call), 1U);
    EXPECT_EQ(s.hardware_commits, 0U);
    EXPECT_EQ(x.load(), 1);
}

TEST_F(htm_blocks, leaves_for_operations_of_software_alone) {
    var<int> x{0};
    struct voter final : participant {
        vote prepare() override { return vote::commit; }
        void commit() noexcept override { ++committed; }
        void abort() noexcept override {}
        int committed = 0;
    } w;
    atomically({.name = "vote"}, [&](tx& t) {
        x.set(t, x.get(t) + 1);
        t.join(w);
    });
    atomically({.name = "apart"}, [&](tx& t) {
        x.set(t, x.get(t) + 1);
        open_nested(t, [&](tx& inner) { (void)inner; }, [](tx&) {});
    });
    atomically({.name = "strict"}, [&](tx& t) {
        x.set(t, x.get(t) + 1);
        t.become_irrevocable("a test");
    });
    EXPECT_EQ(w.committed, 1);
    EXPECT_EQ(x.load(), 3);
    EXPECT_EQ(count_of(statistics_of("vote"), hardware_abort::software), 1U);
    EXPECT_EQ(count_of(statistics_of("apart"), hardware_abort::software), 1U);
    for (const char* name : {"vote", "apart", "strict"}) {
        EXPECT_EQ(statistics_of(name).hardware_commits, 0U) << name;
        EXPECT_EQ(statistics_of(name).commits, 1U) << name;
    }
}

TEST_F(htm_blocks, nests) {
    var<int> x{0};
    var<int> y{0};
    atomically({.name = "nests"}, [&](tx& t) {
        x.set(t, 1);
        EXPECT_FALSE(try_atomically([&](tx& inner) {
            x.set(inner, 2);
            y.set(inner, 2);
            cancel(inner);
        }));
        EXPECT_EQ(x.get(t), 1);
        EXPECT_THROW(atomically([&](tx& inner) {
                         y.set(inner, 3);
                         throw std::string{"out"};
                     }),
                     std::string);
        EXPECT_EQ(y.get(t), 0);
        or_else(t, [&](tx& a) { retry(a); }, [&](tx& b) { y.set(b, 4); });
    });
    EXPECT_EQ(x.load(), 1);
    EXPECT_EQ(y.load(), 4);
    EXPECT_EQ(statistics_of("nests").commits, 1U);
}

TEST_F(htm_blocks, rolls_back_when_an_exception_leaves) {
    var<int> x{0};
    EXPECT_THROW(atomically([&](tx& t) {
                     x.set(t, 1);
                     throw std::string{"out"};
                 }),
                 std::string);
    EXPECT_EQ(x.load(), 0);
}

TEST_F(htm_blocks, does_not_commit_beside_an_irrevocable_transaction) {
    var<int> x{0};
    std::atomic<bool> runs{false};
    std::atomic<bool> failed{false};
    std::thread other{[&] {
        while (!runs.load()) std::this_thread::yield();
        atomically({.name = "beside"}, [&](tx& t) { x.set(t, x.get(t) + 1); });
        failed.store(true);
    }};
    atomically({.mode = mode::irrevocable}, [&](tx& t) {
        const int before = x.get(t);
        runs.store(true);
        while (count_of(statistics_of("beside"), hardware_abort::strict) == 0) std::this_thread::yield();
        EXPECT_EQ(x.get(t), before);
        EXPECT_FALSE(failed.load());
    });
    other.join();
    EXPECT_EQ(x.load(), 1);
}

/// Blocks that end their own hardware attempts, repeatedly. The simulation interrupts a read of `absent`.
class htm_history : public counted {
protected:
    static constexpr int absent = 1000001;
    static constexpr int executions = 1000;

    // Of 1,000 executions 20 try hardware: 7 while the distance doubles, and one in 64 of the others.
    static constexpr std::uint64_t few = 20;

    void run_bad() {
        atomically({.name = "bad"}, [&](tx& t) {
            (void)page_.get(t);
            bad_.set(t, bad_.get(t) + 1);
        });
    }
    void run_good() {
        atomically({.name = "good"}, [&](tx& t) { good_.set(t, good_.get(t) + 1); });
    }

    var<int> page_{absent}, bad_{0}, good_{0};
};

TEST_F(htm_history, rarely_tries_a_block_that_is_always_interrupted) {
    for (int i = 0; i < executions; ++i) run_bad();
    EXPECT_EQ(bad_.load(), executions);
    const site_statistics s = statistics_of("bad");
    EXPECT_EQ(count_of(s, hardware_abort::interrupt), 2 * few);  // the first one may be a coincidence
    EXPECT_EQ(total_count(s), 2 * few);
    EXPECT_EQ(s.hardware_commits, 0U);
}

TEST_F(htm_history, tries_again_once_interrupts_stop) {
    for (int i = 0; i < executions; ++i) run_bad();
    page_.store(0);
    for (int i = 0; i < 128; ++i) run_bad();
    reset_statistics();
    for (int i = 0; i < executions; ++i) run_bad();
    EXPECT_EQ(statistics_of("bad").hardware_commits, static_cast<std::uint64_t>(executions));
    EXPECT_EQ(bad_.load(), 2 * executions + 128);
}

TEST_F(htm_history, keeps_other_blocks_in_hardware) {
    for (int i = 0; i < executions; ++i) {
        run_bad();
        run_good();
    }
    EXPECT_EQ(statistics_of("good").hardware_commits, static_cast<std::uint64_t>(executions));
    EXPECT_EQ(total_count(statistics_of("good")), 0U);
    EXPECT_EQ(statistics_of("bad").hardware_commits, 0U);
}

TEST_F(htm_history, rarely_tries_a_block_that_needs_software) {
    var<int> x{0};
    std::vector<var<int>> many(100);
    for (int i = 0; i < executions; ++i) {
        atomically({.name = "undone"}, [&](tx& t) {
            x.set(t, x.get(t) + 1);
            t.on_abort([](abort_cause) {});
        });
        atomically({.name = "apart"}, [&](tx& t) {
            x.set(t, x.get(t) + 1);
            open_nested(t, [](tx&) {}, [](tx&) {});
        });
        atomically({.name = "large"}, [&](tx& t) {
            for (var<int>& v : many) v.set(t, v.get(t) + 1);
        });
    }
    EXPECT_EQ(x.load(), 2 * executions);
    EXPECT_EQ(total_count(statistics_of("undone")), few);
    EXPECT_EQ(total_count(statistics_of("apart")), few);
    EXPECT_EQ(total_count(statistics_of("large")), few);
}

// The irrevocable transactions cause the failures, so the block keeps trying hardware.
TEST_F(htm_history, keeps_a_block_that_met_irrevocable_ones_in_hardware) {
    constexpr int times = 20;
    std::atomic<int> begun{0}, over{0};
    std::thread other{[&] {
        for (int i = 0; i < times; ++i) {
            while (over.load() != i) std::this_thread::yield();
            atomically({.mode = mode::irrevocable}, [&](tx&) {
                ++begun;
                const auto met = static_cast<std::uint64_t>(i);
                while (count_of(statistics_of("good"), hardware_abort::strict) == met) std::this_thread::yield();
            });
        }
    }};
    for (int i = 0; i < times; ++i) {
        while (begun.load() == i) std::this_thread::yield();
        run_good();
        ++over;
    }
    other.join();
    run_good();
    EXPECT_EQ(statistics_of("good").hardware_commits, 1U);
}

/// Uses the processor's hardware transactions instead of the simulation.
class htm_of_the_processor : public counted {};

TEST_F(htm_of_the_processor, rarely_tries_a_block_while_it_makes_system_calls) {
    constexpr int executions = 1000;
    var<int> x{0};
    bool calls = true;
    const auto run = [&] {
        atomically({.name = "call"}, [&](tx& t) {
            x.set(t, x.get(t) + 1);
            if (calls) (void)getppid();
        });
    };
    for (int i = 0; i < executions; ++i) run();
    EXPECT_GT(total_count(statistics_of("call")), 0U);
    EXPECT_LE(total_count(statistics_of("call")), 8U * 20);  // 20 executions try, with at most eight attempts each
    EXPECT_EQ(statistics_of("call").hardware_commits, 0U);
    calls = false;
    for (int i = 0; i < executions; ++i) run();
    EXPECT_GT(statistics_of("call").hardware_commits, executions / 2U);
    EXPECT_EQ(x.load(), 2 * executions);
}

/// Uses hardware that ends attempts at random.
class htm_with_aborts : public counted {};

TEST_F(htm_with_aborts, makes_each_call_once) {
    var<int> x{0};
    std::atomic<int> calls{0};
    const auto times = static_cast<int>(rounds(20000));
    support::run_threads(3, [&](unsigned) {
        for (int i = 0; i < times; ++i) {
            atomically({.name = "calls"}, [&](tx& t) {
                x.set(t, x.get(t) + 1);
                t.on_commit([&] { ++calls; });
            });
        }
    });
    EXPECT_EQ(x.load(), 3 * times);
    EXPECT_EQ(calls.load(), 3 * times);
    const site_statistics s = statistics_of("calls");
    EXPECT_GT(total_count(s), 0U);
    EXPECT_GT(s.hardware_commits, 0U);
    EXPECT_GT(s.commits, s.hardware_commits);
}

TEST_F(htm_with_aborts, keeps_the_sum) {
    constexpr std::size_t accounts = 12;
    std::vector<var<long>> balance(accounts);
    std::vector<long> plain(accounts);
    std::atomic<long> torn{0};
    support::run_threads(4, [&](unsigned me) {
        std::uint64_t random = me * 0x9e3779b97f4a7c15U + 1;
        for (std::size_t i = 0; i < rounds(30000); ++i) {
            random = random * 6364136223846793005U + 1442695040888963407U;
            const std::size_t from = (random >> 33) % accounts;
            const std::size_t to = (random >> 43) % accounts;
            if (random >> 60 == 0) {
                long sum = 0;
                atomically({.read_only = true}, [&](tx& t) {
                    sum = 0;
                    for (std::size_t a = 0; a < accounts; ++a) sum += balance[a].get(t) + load(t, &plain[a]);
                });
                if (sum != 0) ++torn;
                continue;
            }
            atomically({.mode = random >> 58 == 1 ? mode::irrevocable : mode::optimistic}, [&](tx& t) {
                balance[from].set(t, balance[from].get(t) - 1);
                store(t, &plain[to], load(t, &plain[to]) + 1);
                if (random >> 61 == 2) balance[to].set(t, balance[to].get(t));
            });
        }
    });
    EXPECT_EQ(torn.load(), 0);
    long sum = 0;
    for (std::size_t a = 0; a < accounts; ++a) sum += balance[a].load() + plain[a];
    EXPECT_EQ(sum, 0);
}

TEST_F(htm_with_aborts, wakes_sleeping_blocks) {
    var<int> turn{0};
    const auto times = static_cast<int>(rounds(3000));
    support::run_threads(2, [&](unsigned me) {
        for (int i = 0; i < times; ++i) {
            atomically([&](tx& t) {
                if (turn.get(t) % 2 != static_cast<int>(me)) retry(t);
                turn.set(t, turn.get(t) + 1);
            });
        }
    });
    EXPECT_EQ(turn.load(), 2 * times);
}

}  // namespace
}  // namespace tutti
