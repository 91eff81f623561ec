// A block that is starved although it has a deadline, or a deadline that is silently dropped.
//
// Catches deadlines that are checked only at the start of a block, and waits that no deadline ends. Catches a mode
// switch that keeps stale reads, irrevocability that a retry keeps, and frames that stay open when a block is refused.
#include <cmath>
#include <utility>

#include "anomalies/flavour.hpp"

namespace tutti::anomalies {
namespace {

using namespace std::chrono_literals;

class deadlines_test : public suite {
protected:
    static deadline passed() { return std::chrono::steady_clock::now() - 1ms; }
    static site_statistics row(std::string_view name) {
        for (auto& s : statistics()) {
            if (s.name == name) return s;
        }
        return {};
    }
    static std::uint64_t total(const std::array<std::uint64_t, mode_count>& by_mode) {
        return by_mode[0] + by_mode[1] + by_mode[2];
    }
};

// Another thread overwrites every value that an optimistic attempt has read. The block cannot commit before it has
// switched to a stricter mode, however far away the deadline is.
TEST_F(deadlines_test, commit_a_block_under_permanent_conflict) {
    var<long> contended{0}, sum{0};
    std::atomic<bool> over{false};
    std::atomic<long> asked{0}, served{0};
    deadline_outcome outcome;
    violations torn;
    run_threads(2, [&](unsigned me) {
        if (me == 1) {
            while (!over) {
                if (served == asked) {
                    std::this_thread::yield();
                    continue;
                }
                atomically([&](tx& t) { contended.set(t, contended.get(t) + 1); });
                ++served;
            }
            return;
        }
        atomically({.deadline = 20ms, .when_missed = missed_deadline::run_irrevocable, .outcome = &outcome},
                   [&](tx& t) {
                       const long before = contended.get(t);
                       const long request = ++asked;
                       // A writer that finds a mark waits for this block, so this loop must end without the writer.
                       for (int turn = 0; turn < 2000 && served < request && concurrent(); ++turn)
                           std::this_thread::yield();
                       torn.expect(contended.get(t) == before);
                       sum.set(t, before);
                   });
        over = true;
    });
    EXPECT_TRUE(outcome.committed);
    EXPECT_EQ(torn.count(), 0);
}

// The block aborts itself until it has reached the last mode.
TEST_F(deadlines_test, commit_a_block_that_needs_irrevocability) {
    deadline_outcome outcome;
    var<int> runs{0};
    const auto due = std::chrono::steady_clock::now() + 5ms;
    bool began_late = false;  // an attempt that becomes late while it runs may still end in its first mode
    atomically({.deadline = due, .when_missed = missed_deadline::run_irrevocable, .outcome = &outcome}, [&](tx& t) {
        runs.set(t, runs.get(t) + 1);
        if (std::exchange(began_late, std::chrono::steady_clock::now() > due)) return;
        restart(t);
    });
    EXPECT_TRUE(outcome.committed);
    EXPECT_NE(outcome.mode, mode::optimistic);
    EXPECT_EQ(runs.load(), 1);
}

// Another transaction holds a variable that the block needs, and does not continue until the block has ended. The block
// continues only if the deadline ends its wait. The holder must be killable: it checks its barriers instead of sleeping
// in its body.
TEST_F(deadlines_test, end_a_wait_for_another_transaction) {
    if (!concurrent()) GTEST_SKIP() << "transactions exclude each other under " << algorithm();
    var<int> held{0};
    std::atomic<int> stage{0};
    int first_attempt = 0;
    run_threads(2, [&](unsigned me) {
        if (me == 0) {
            atomically([&](tx& t) {
                if (++first_attempt > 1) return;  // killed: the other block has committed
                held.set(t, 1);
                stage = 1;
                while (stage.load() != 2) {
                    static_cast<void>(held.get(t));  // the barrier at which the attempt notices that it was killed
                    std::this_thread::yield();
                }
            });
        } else {
            while (stage.load() != 1) std::this_thread::yield();
            atomically({.deadline = 5ms, .when_missed = missed_deadline::run_irrevocable},
                       [&](tx& t) { held.set(t, held.get(t) + 10); });
            stage = 2;
        }
    });
    EXPECT_TRUE(held.load() == 10 || held.load() == 1 || held.load() == 11) << held.load();
}

TEST_F(deadlines_test, never_run_a_refused_block) {
    int runs = 0;
    deadline_outcome outcome{true, true, mode::visible, 1ns};
    const options how{.deadline = passed(), .when_missed = missed_deadline::refuse, .outcome = &outcome};
    EXPECT_THROW(atomically(how, [&](tx&) { ++runs; }), deadline_missed);
    EXPECT_THROW(atomically(no_unwind, how, [&](tx&) { ++runs; }), deadline_missed);
    EXPECT_THROW(static_cast<void>(try_atomically(how, [&](tx&) { ++runs; })), deadline_missed);
    EXPECT_EQ(runs, 0);
    EXPECT_FALSE(outcome.committed);
    EXPECT_FALSE(outcome.met);
    atomically([&](tx& t) {  // the refused block has left nothing behind
        EXPECT_EQ(t.attempt(), 1u);
        ++runs;
    });
    EXPECT_EQ(runs, 1);
}

TEST_F(deadlines_test, report_a_missed_deadline) {
    deadline_outcome outcome;
    atomically({.deadline = passed(), .outcome = &outcome}, [](tx& t) { EXPECT_FALSE(t.irrevocable()); });
    EXPECT_TRUE(outcome.committed);
    EXPECT_FALSE(outcome.met);
    EXPECT_LT(outcome.left, 0ns);
    atomically({.deadline = passed(), .when_missed = missed_deadline::run_irrevocable, .outcome = &outcome},
               [](tx& t) { EXPECT_FALSE(t.irrevocable()); });  // the block was not promised to run only once
    EXPECT_FALSE(outcome.met);
    EXPECT_EQ(outcome.mode, mode::irrevocable);
    atomically({.deadline = 24h, .outcome = &outcome}, [](tx&) {});
    EXPECT_TRUE(outcome.met);
    EXPECT_GT(outcome.left, 0ns);
    EXPECT_THROW(atomically({.deadline = 24h, .outcome = &outcome}, [](tx& t) { cancel(t); }), cancelled);
    EXPECT_FALSE(outcome.committed);
}

// No commit ever wakes the block.
TEST_F(deadlines_test, end_a_retry_of_a_refused_block) {
    var<int> never{0}, written{0};
    EXPECT_THROW(atomically({.deadline = 2ms, .when_missed = missed_deadline::refuse},
                            [&](tx& t) {
                                written.set(t, 1);
                                if (never.get(t) == 0) retry(t);
                            }),
                 deadline_missed);
    EXPECT_EQ(written.load(), 0);
    EXPECT_THROW(atomically({.deadline = 2ms, .when_missed = missed_deadline::refuse},
                            [&](tx& t) {
                                if (never.get(t) == 0) retry_for(t, 24h);
                            }),
                 deadline_missed);
}

// A block that is irrevocable only because of its deadline can still wait, and other blocks can still change the
// awaited variable.
TEST_F(deadlines_test, let_a_late_block_wait) {
    var<int> box{0};
    run_threads(2, [&](unsigned me) {
        if (me == 0) {
            const int got =
                atomically({.deadline = passed(), .when_missed = missed_deadline::run_irrevocable}, [&](tx& t) {
                    if (box.get(t) == 0) retry(t);
                    return box.get(t);
                });
            EXPECT_EQ(got, 7);
        } else {
            for (int i = 0; i < 100; ++i) std::this_thread::yield();
            atomically({.deadline = passed(), .when_missed = missed_deadline::run_irrevocable},
                       [&](tx& t) { box.set(t, 7); });
        }
    });
}

TEST_F(deadlines_test, diagnose_invalid_options) {
    static constexpr deadline_tuning swapped{.visible_factor = 2, .irrevocable_factor = 3};
    static constexpr deadline_tuning too_late{.irrevocable_factor = 0.5};
    static constexpr deadline_tuning none{.samples = 0};
    static constexpr deadline_tuning endless{.samples = 1'000'000};
    int runs = 0;
    const auto diagnosed = [&](const options& how, const char* about) {
        try {
            atomically(how, [&](tx&) { ++runs; });
            ADD_FAILURE() << about << " was taken";
        } catch (const usage_error& e) {
            EXPECT_NE(std::string{e.what()}.find(about), std::string::npos) << e.what();
        }
    };
    diagnosed({.deadline = -1ms}, "negative");
    for (const double qos : {0.0, 1.0, -0.5, 2.0, static_cast<double>(NAN)}) {
        diagnosed({.deadline = 1h, .qos = qos}, "qos");
    }
    diagnosed({.deadline = 1h, .tuning = &swapped}, "visible_factor");
    diagnosed({.deadline = 1h, .tuning = &too_late}, "irrevocable_factor");
    diagnosed({.deadline = 1h, .tuning = &none}, "samples");
    diagnosed({.deadline = 1h, .tuning = &endless}, "samples");
    EXPECT_EQ(runs, 0);
    atomically({.qos = 5}, [&](tx&) { ++runs; });  // ignored without a deadline
    EXPECT_EQ(runs, 1);
}

TEST_F(deadlines_test, are_counted_by_site_and_mode) {
    enable_statistics(true);
    reset_statistics();
    const auto run = [](const options& how) { atomically(how, [](tx&) {}); };
    run({.name = "deadlines", .deadline = 24h});
    run({.name = "deadlines", .mode = mode::visible, .deadline = 24h});
    run({.name = "deadlines", .mode = mode::visible, .deadline = 24h});
    run({.name = "deadlines", .deadline = passed()});
    run({.name = "deadlines", .deadline = passed(), .when_missed = missed_deadline::run_irrevocable});
    EXPECT_THROW(run({.name = "deadlines", .deadline = passed(), .when_missed = missed_deadline::refuse}),
                 deadline_missed);
    run({.name = "deadlines"});
    enable_statistics(false);
    const auto s = row("deadlines");
    EXPECT_EQ(s.commits, 6u);
    EXPECT_EQ(s.deadlines_met, (std::array<std::uint64_t, 3>{1, 2, 0}));
    EXPECT_EQ(s.deadlines_missed, (std::array<std::uint64_t, 3>{1, 0, 1}));
    EXPECT_EQ(s.deadlines_refused, 1u);
    EXPECT_EQ(s.irrevocable, 1u);
    EXPECT_EQ(s.irrevocable_reason, "deadline");
}

// All threads share one site, and so one sample. They become late at every point of a transaction.
TEST_F(deadlines_test, lose_no_update_of_strict_blocks) {
    const std::size_t each = rounds(400);
    std::array<var<long>, 8> data{};
    std::atomic<std::uint64_t> met{0}, missed{0};
    violations wrong;
    run_threads(4, [&](unsigned me) {
        for (std::size_t i = 0; i < each; ++i) {
            deadline_outcome outcome;
            const auto due = std::chrono::microseconds{1 + (i * 7 + me) % 60};
            const auto late = i % 2 == 0 ? missed_deadline::run_irrevocable : missed_deadline::run_anyway;
            atomically({.deadline = due, .qos = 0.5, .when_missed = late, .outcome = &outcome}, [&](tx& t) {
                const long first = data[0].get(t);
                for (auto& v : data) {
                    wrong.expect(v.get(t) == first);
                    v.set(t, first + 1);
                }
            });
            wrong.expect(outcome.committed);
            ++(outcome.met ? met : missed);
        }
    });
    EXPECT_EQ(wrong.count(), 0);
    EXPECT_EQ(met + missed, 4 * each);
    for (auto& v : data) EXPECT_EQ(v.load(), static_cast<long>(4 * each));
}

// A deadline counts for the whole transaction; a deadline of a nested block is ignored.
TEST_F(deadlines_test, are_ignored_for_nested_blocks) {
    deadline_outcome outcome;
    int runs = 0;
    atomically([&](tx&) {
        atomically({.deadline = passed(), .when_missed = missed_deadline::refuse, .outcome = &outcome},
                   [&](tx&) { ++runs; });
    });
    EXPECT_EQ(runs, 1);
    EXPECT_FALSE(outcome.committed);
}

// Catches sums and conversions that overflow, so that a distant time counts as past, or the reverse.
TEST_F(deadlines_test, handle_unrepresentable_times) {
    using std::chrono::steady_clock, std::chrono::system_clock;
    const auto met = [](deadline due) {
        deadline_outcome outcome;
        atomically({.deadline = due, .when_missed = missed_deadline::run_anyway, .outcome = &outcome}, [](tx&) {});
        return outcome.committed && outcome.met;
    };
    EXPECT_TRUE(met(std::chrono::hours::max()));
    EXPECT_TRUE(met(std::chrono::years{300}));
    EXPECT_TRUE(met(steady_clock::time_point::max()));
    EXPECT_FALSE(met(steady_clock::time_point::min()));
    EXPECT_THROW(met(std::chrono::nanoseconds::min()), usage_error);

    // If a wait does not return immediately, another thread ends it.
    const auto waits = [](auto wait) {
        var<int> ended{0};
        std::atomic<bool> began{false};
        std::atomic<bool> returned{false};
        run_threads(2, [&](unsigned me) {
            if (me == 0) {
                atomically([&](tx& t) {
                    if (ended.get(t) != 0) return;
                    began = true;
                    wait(t);
                    returned = true;
                });
                began = true;
            } else {
                while (!began.load()) std::this_thread::yield();
                ended.store(1);
            }
        });
        return !returned.load();
    };
    EXPECT_TRUE(waits([](tx& t) { retry_for(t, std::chrono::nanoseconds::max()); }));
    EXPECT_TRUE(waits([](tx& t) { retry_for(t, std::chrono::hours::max()); }));
    EXPECT_TRUE(waits([](tx& t) { retry_for(t, std::chrono::years{300}); }));
    EXPECT_FALSE(waits([](tx& t) { retry_for(t, std::chrono::nanoseconds::min()); }));
    EXPECT_FALSE(waits([](tx& t) { retry_for(t, std::chrono::hours::min()); }));
    EXPECT_TRUE(waits([](tx& t) { retry_until(t, steady_clock::time_point::max()); }));
    EXPECT_TRUE(waits([](tx& t) { retry_until(t, system_clock::time_point::max()); }));
    EXPECT_TRUE(waits([](tx& t) { retry_until(t, std::chrono::sys_days{std::chrono::year{2999} / 1 / 1}); }));
    EXPECT_FALSE(waits([](tx& t) { retry_until(t, steady_clock::time_point::min()); }));
    EXPECT_FALSE(waits([](tx& t) { retry_until(t, system_clock::time_point::min()); }));
    EXPECT_FALSE(waits([](tx& t) { retry_until(t, std::chrono::sys_days{std::chrono::year{1000} / 1 / 1}); }));
}

}  // namespace
}  // namespace tutti::anomalies
