// Executions with a deadline, on a clock that the test moves: the mode of each attempt, the barriers' checks, and the
// sampled durations.
#include "core/modes/deadline.hpp"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "core/conflict/kill.hpp"
#include "core/lifecycle/registry.hpp"
#include "core/modes/site_times.hpp"
#include "core/tokens/slots.hpp"
#include "tutti/tutti.hpp"

namespace tutti::core {
namespace {

using namespace std::chrono_literals;

status mode_of(tx& t) { return descriptor::of(t).mode; }

class deadline_test : public ::testing::Test {
protected:
    void SetUp() override {
        if (algorithm() == "serial" || algorithm() == "global-lock") GTEST_SKIP() << "modes mean nothing there";
    }

    base::manual_clock clock_;
    var<int> x_{0};
    var<int> y_{0};

    /// Runs a block named `name` until its site knows the usual duration `usual`.
    void practise(const char* name, std::chrono::nanoseconds usual) {
        for (int i = 0; i < 16; ++i) run({.name = name, .deadline = 1h}, [&](tx&) { clock_.advance(usual); });
    }
    /// All blocks of a test share one site, because they use this line.
    template <class F>
    static void run(const options& how, F&& body) {
        atomically(how, body);
    }
    /// Runs a block named `name` as `practise` does, but rolls the block back seven times for every commit.
    void practise_in_vain(const char* name, std::chrono::nanoseconds usual) {
        for (int i = 0; i < 16; ++i) {
            run({.name = name, .deadline = 1h}, [&](tx& t) {
                clock_.advance(usual);
                if (t.attempt() % 8 != 0) restart(t);
            });
        }
    }
    static site_times* times_at(std::string_view name) {
        for (std::uint32_t id = 0; id < observe::sites(); ++id) {
            const observe::site& s = observe::site_number(id);
            if (s.name == name && known_times_of(s) != nullptr) return known_times_of(s);
        }
        return nullptr;
    }
    static std::vector<std::uint64_t> sample_of(std::string_view name, status mode = status::active) {
        const site_times* const times = times_at(name);
        return times != nullptr ? times->sample_in(mode) : std::vector<std::uint64_t>{};
    }
    /// Returns the mode of the first attempt of a block with that deadline.
    status first_mode(const options& how) {
        status first{};
        run(how, [&](tx& t) {
            if (t.attempt() == 1) first = mode_of(t);
        });
        return first;
    }
};

TEST_F(deadline_test, makes_restarts_stricter_as_time_runs_out) {
    practise("stricter", 10ms);
    std::vector<status> modes;
    deadline_outcome outcome;
    run({.name = "stricter", .deadline = 100ms, .outcome = &outcome}, [&](tx& t) {
        modes.push_back(mode_of(t));
        clock_.advance(15ms);  // then 85, 70, 55 (visible) or 40 ms (irrevocable) are left
        if (mode_of(t) != status::irrevocable) restart(t);
    });
    const std::vector<status> expected{status::active, status::active, status::active, status::visible,
                                       status::irrevocable};
    EXPECT_EQ(modes, expected);
    EXPECT_TRUE(outcome.committed);
    EXPECT_TRUE(outcome.met);
    EXPECT_EQ(outcome.mode, mode::irrevocable);
    EXPECT_EQ(outcome.left, 25ms);
}

TEST_F(deadline_test, switches_the_mode_in_place_at_a_write) {
    practise("in place", 10ms);
    int attempts = 0;
    run({.name = "in place", .deadline = 100ms}, [&](tx& t) {
        ++attempts;
        EXPECT_EQ(x_.get(t), 0);
        clock_.advance(39ms);
        y_.set(t, 1);
        EXPECT_EQ(mode_of(t), status::active);  // 61 ms are left
        clock_.advance(1ms);
        y_.set(t, 2);
        EXPECT_EQ(mode_of(t), status::visible);
        clock_.advance(30ms);
        y_.set(t, 3);
        EXPECT_EQ(mode_of(t), status::visible);  // stays so until its end
    });
    EXPECT_EQ(attempts, 1);
    EXPECT_EQ(y_.load(), 3);
}

TEST_F(deadline_test, becomes_irrevocable_at_a_late_write) {
    practise("late write", 10ms);
    int attempts = 0;
    run({.name = "late write", .deadline = 100ms}, [&](tx& t) {
        ++attempts;
        EXPECT_EQ(x_.get(t), 0);
        clock_.advance(65ms);
        y_.set(t, 1);
        EXPECT_EQ(mode_of(t), status::irrevocable);
    });
    EXPECT_EQ(attempts, 1);
}

// Stale reads cannot be kept, so the switch is a restart.
TEST_F(deadline_test, drops_invalid_reads_at_a_switch) {
    practise("invalid", 10ms);
    std::vector<status> modes;
    run({.name = "invalid", .deadline = 100ms}, [&](tx& t) {
        modes.push_back(mode_of(t));
        const int seen = x_.get(t);
        if (t.attempt() == 1) {
            std::jthread{[&] { x_.store(seen + 1); }}.join();
            clock_.advance(45ms);
        }
        y_.set(t, x_.get(t));
    });
    EXPECT_EQ(modes, (std::vector<status>{status::active, status::visible}));
    EXPECT_EQ(y_.load(), 1);
}

TEST_F(deadline_test, continues_unchanged_without_a_free_slot) {
    practise("no slot", 10ms);
    descriptor& holder = acquire_descriptor();
    ASSERT_TRUE(take_slot(holder, status::irrevocable));
    int attempts = 0;
    run({.name = "no slot", .deadline = 100ms}, [&](tx& t) {
        ++attempts;
        clock_.advance(65ms);
        y_.set(t, 1);
        EXPECT_EQ(mode_of(t), status::active);
        release_slot(holder);
        y_.set(t, 2);
        EXPECT_EQ(mode_of(t), status::irrevocable);
    });
    EXPECT_EQ(attempts, 1);
    release_descriptor(holder);
}

TEST_F(deadline_test, leaves_an_attempt_alone_that_cannot_succeed) {
    practise("too late", 10ms);
    run({.name = "too late", .deadline = 100ms}, [&](tx& t) {
        clock_.advance(95ms);
        y_.set(t, 1);
        EXPECT_EQ(mode_of(t), status::active);
    });
}

TEST_F(deadline_test, refuses_less_than_the_usual_time) {
    practise("short", 10ms);
    int runs = 0;
    const auto body = [&](tx&) { ++runs; };
    EXPECT_THROW(run({.name = "short", .deadline = 9ms, .when_missed = missed_deadline::refuse}, body),
                 deadline_missed);
    EXPECT_EQ(runs, 0);
    EXPECT_NO_THROW(run({.name = "short", .deadline = 11ms, .when_missed = missed_deadline::refuse}, body));
    EXPECT_EQ(runs, 1);
}

TEST_F(deadline_test, refuses_a_deadline_that_passes_between_attempts) {
    practise("between", 10ms);
    int runs = 0;
    EXPECT_THROW(run({.name = "between", .deadline = 100ms, .when_missed = missed_deadline::refuse},
                     [&](tx& t) {
                         ++runs;
                         y_.set(t, 5);
                         clock_.advance(101ms);
                         restart(t);
                     }),
                 deadline_missed);
    EXPECT_EQ(runs, 1);
    EXPECT_EQ(y_.load(), 0);
    run({}, [&](tx& t) { EXPECT_EQ(t.attempt(), 1u); });  // the next block is not affected
}

// The block does not starve: once it has been rolled back, other blocks let it go first.
TEST_F(deadline_test, does_not_block_others_when_running_anyway) {
    practise("anyway", 10ms);
    std::vector<status> modes;
    deadline_outcome outcome;
    run({.name = "anyway", .deadline = 100ms, .outcome = &outcome}, [&](tx& t) {
        modes.push_back(mode_of(t));
        clock_.advance(101ms);
        if (t.attempt() < 3) restart(t);
    });
    EXPECT_EQ(modes, (std::vector<status>{status::active, status::visible, status::visible}));
    EXPECT_TRUE(outcome.committed);
    EXPECT_FALSE(outcome.met);
    EXPECT_EQ(outcome.left, -203ms);
}

TEST_F(deadline_test, uses_the_quality_of_service_as_percentile) {
    // 90 short executions and 10 long ones
    for (int i = 0; i < 100; ++i) {
        run({.name = "qos", .deadline = 1h}, [&](tx& t) {
            clock_.advance(i % 10 == 0 ? 20ms : 1ms);
            if (t.attempt() % 8 != 0) restart(t);
        });
    }
    EXPECT_EQ(first_mode({.name = "qos", .deadline = 50ms, .qos = 0.5}), status::active);        // 1 ms is usual
    EXPECT_EQ(first_mode({.name = "qos", .deadline = 50ms, .qos = 0.99}), status::irrevocable);  // 20 ms are usual
}

// Under permanent conflict no attempt commits, so no duration is sampled. The site learns from the failures.
TEST_F(deadline_test, learns_first_from_rolled_back_attempts) {
    std::vector<status> modes;
    run({.name = "unknown", .deadline = 100ms}, [&](tx& t) {
        modes.push_back(mode_of(t));
        clock_.advance(10ms);
        if (mode_of(t) != status::irrevocable) restart(t);
    });
    // The optimistic attempts begin with 100, 90, 80 and 70 ms left. Attempts are visible from 60 ms (6 L) on, and
    // irrevocable from 40 ms (4 L) on.
    const std::vector<status> expected{status::active,  status::active,  status::active,     status::active,
                                       status::visible, status::visible, status::irrevocable};
    EXPECT_EQ(modes, expected);
}

TEST_F(deadline_test, samples_commits_by_mode) {
    run({.name = "sampled", .deadline = 1h}, [&](tx&) { clock_.advance(10ms); });
    run({.name = "sampled", .mode = mode::visible, .deadline = 1h}, [&](tx&) { clock_.advance(20ms); });
    run({.name = "sampled", .mode = mode::irrevocable, .deadline = 1h}, [&](tx&) { clock_.advance(30ms); });
    const auto expect = [&](status mode, std::uint64_t took) {
        const auto sample = sample_of("sampled", mode);
        ASSERT_LE(sample.size(), 1u);  // 0 if the test moved to another core meanwhile
        for (const std::uint64_t s : sample) EXPECT_EQ(s, took);
    };
    expect(status::active, 10'000'000);
    expect(status::visible, 20'000'000);
    expect(status::irrevocable, 30'000'000);
}

// The attempt ran in two modes, so its duration represents neither of them.
TEST_F(deadline_test, ignores_commits_that_changed_their_mode) {
    practise("changes", 10ms);
    const std::size_t before = sample_of("changes").size();
    deadline_outcome outcome;
    run({.name = "changes", .deadline = 100ms, .outcome = &outcome}, [&](tx& t) {
        clock_.advance(70ms);
        y_.set(t, 1);
    });
    EXPECT_EQ(outcome.mode, mode::irrevocable);
    EXPECT_EQ(sample_of("changes").size(), before);
    EXPECT_TRUE(sample_of("changes", status::irrevocable).empty());
}

TEST_F(deadline_test, samples_only_the_committed_attempt) {
    run({.name = "attempts", .deadline = 1h}, [&](tx& t) {
        clock_.advance(t.attempt() == 1 ? 500ms : 10ms);
        if (t.attempt() == 1) restart(t);
    });
    for (const std::uint64_t s : sample_of("attempts")) EXPECT_EQ(s, 10'000'000u);
    EXPECT_THROW(run({.name = "thrown", .deadline = 1h}, [&](tx&) { throw 1; }), int);
    EXPECT_TRUE(sample_of("thrown").empty());
}

TEST_F(deadline_test, ignores_attempts_that_were_switched_away) {
    run({.name = "switched", .deadline = 1h}, [&](tx& t) {
        descriptor& d = descriptor::of(t);
        suspend(d);
        clock_.advance(10ms);
        resume(d);
    });
    EXPECT_TRUE(sample_of("switched").empty());
}

// --- sites use strict modes only if they help

TEST_F(deadline_test, leaves_a_block_without_roll_backs_optimistic) {
    practise("undisturbed", 10ms);
    for (const auto due : {11ms, 30ms, 50ms, 100ms}) {
        EXPECT_EQ(first_mode({.name = "undisturbed", .deadline = due}), status::active) << due.count();
    }
}

TEST_F(deadline_test, keeps_optimistic_estimates_apart_from_strict_commits) {
    practise("feedback", 1ms);
    for (int i = 0; i < 100; ++i) {
        run({.name = "feedback", .mode = mode::irrevocable, .deadline = 1h}, [&](tx&) { clock_.advance(20ms); });
    }
    EXPECT_EQ(first_mode({.name = "feedback", .deadline = 30ms}), status::active);
    EXPECT_EQ(times_at("feedback")->expected_in(status::active, 0.99), 1ms);
    // Strict commits do not cause a refusal of the block either.
    EXPECT_NO_THROW(run({.name = "feedback", .deadline = 2ms, .when_missed = missed_deadline::refuse}, [](tx&) {}));
}

// The block's attempts are rolled back repeatedly, but the stricter modes would certainly be late.
TEST_F(deadline_test, skips_a_mode_that_takes_too_long) {
    const auto site = [&](const char* name, std::chrono::nanoseconds strictly) {
        practise_in_vain(name, 10ms);
        for (const mode m : {mode::visible, mode::irrevocable}) {
            for (int i = 0; i < 3; ++i) {
                run({.name = name, .mode = m, .deadline = 1h}, [&](tx&) { clock_.advance(strictly); });
            }
        }
        return first_mode({.name = name, .deadline = 70ms});
    };
    EXPECT_EQ(site("slow when strict", 120ms), status::active);
    EXPECT_EQ(site("fast when strict", 20ms), status::visible);  // irrevocable from 60 ms on
    EXPECT_EQ(site("not so fast when strict", 40ms), status::irrevocable);
}

TEST_F(deadline_test, ignores_one_outlier) {
    for (int i = 0; i < 40; ++i) {
        run({.name = "outlier", .deadline = 1h}, [&](tx&) { clock_.advance(i == 20 ? 500ms : 1ms); });
    }
    EXPECT_EQ(first_mode({.name = "outlier", .deadline = 1s}), status::active);
    EXPECT_NO_THROW(run({.name = "outlier", .deadline = 10ms, .when_missed = missed_deadline::refuse}, [](tx&) {}));
}

TEST_F(deadline_test, recovers_after_contention) {
    practise_in_vain("recovering", 10ms);
    EXPECT_NE(first_mode({.name = "recovering", .deadline = 30ms}), status::active);
    practise("recovering", 10ms);
    practise("recovering", 10ms);
    EXPECT_EQ(first_mode({.name = "recovering", .deadline = 30ms}), status::active);
}

// Refused blocks add nothing to the sample.
TEST_F(deadline_test, recovers_after_refusals) {
    practise("refused", 10ms);
    const auto runs = [&] {
        bool ran = false;
        try {
            run({.name = "refused", .deadline = 5ms, .when_missed = missed_deadline::refuse}, [&](tx&) { ran = true; });
        } catch (const deadline_missed&) {}
        return ran;
    };
    unsigned refused = 0;
    while (refused < 10'000 && !runs()) ++refused;
    EXPECT_GE(refused, site_times::denials_before_forgetting);  // the site does not doubt its sample immediately
    EXPECT_LE(refused, 16 * site_times::denials_before_forgetting);
}

// Blocks that avoid a mode, because the mode once took long, add nothing to the sample of that mode.
TEST_F(deadline_test, retries_a_mode_that_took_too_long) {
    practise_in_vain("tried again", 10ms);
    for (int i = 0; i < 3; ++i) {
        for (const mode m : {mode::visible, mode::irrevocable}) {
            run({.name = "tried again", .mode = m, .deadline = 1h}, [&](tx&) { clock_.advance(500ms); });
        }
    }
    unsigned optimistic = 0;
    const auto runs_first_in = [&] {
        status first{};
        run({.name = "tried again", .deadline = 50ms}, [&](tx& t) {
            if (t.attempt() == 1) first = mode_of(t);
            clock_.advance(1us);
            if (mode_of(t) == status::active && t.attempt() % 8 != 0) restart(t);
        });
        return first;
    };
    while (optimistic < 10'000 && runs_first_in() == status::active) ++optimistic;
    EXPECT_GE(optimistic, 1u);
    EXPECT_LE(optimistic, 8 * site_times::denials_before_forgetting);
}

// At this site, strict attempts miss more deadlines than optimistic ones. The site notices the difference.
TEST_F(deadline_test, avoids_strictness_where_it_does_not_pay) {
    practise_in_vain("does not pay", 10ms);
    unsigned strict = 0;
    deadline_outcome outcome;
    const auto run_many = [&](unsigned times) {
        for (unsigned i = 0; i < times; ++i) {
            run({.name = "does not pay", .deadline = 50ms, .outcome = &outcome}, [&](tx& t) {
                if (mode_of(t) != status::active) {
                    ++strict;
                    return clock_.advance(60ms);
                }
                if (t.attempt() % 2 != 0) restart(t);
            });
        }
    };
    run_many(2 * strictness_trial::window);
    EXPECT_GT(strict, 0u);
    strict = 0;
    run_many(4 * strictness_trial::window);
    EXPECT_EQ(strict, 0u);
    EXPECT_TRUE(outcome.met);
}

// A body that is irrevocable only because of its deadline may still wait; a body that requested irrevocability may not.
TEST_F(deadline_test, leaves_strict_mode_at_retry) {
    practise_in_vain("made_strict", 10ms);
    std::jthread producer;
    run({.name = "made_strict", .deadline = 30ms}, [&](tx& t) {
        EXPECT_EQ(mode_of(t), status::irrevocable);
        t.become_visible();  // no effect: the attempt is already irrevocable
        if (x_.get(t) != 0) return;
        if (!producer.joinable()) producer = std::jthread{[&] { x_.store(1); }};
        retry(t);
    });
    EXPECT_THROW(run({.name = "made_strict", .deadline = 30ms},
                     [&](tx& t) {
                         t.become_irrevocable("now it has to be");
                         restart(t);
                     }),
                 usage_error);
}

TEST_F(deadline_test, supports_deadlines_of_blocks_in_handlers) {
    practise("outer", 10ms);
    std::vector<status> modes;
    deadline_outcome outcome;
    run({.name = "outer", .deadline = 100ms, .outcome = &outcome}, [&](tx& t) {
        modes.push_back(mode_of(t));
        t.on_abort([&] { run({.name = "inner", .deadline = 1h}, [&](tx&) { clock_.advance(1ms); }); });
        clock_.advance(49ms);
        if (t.attempt() == 1) restart(t);
    });
    EXPECT_EQ(modes, (std::vector<status>{status::active, status::visible}));
    EXPECT_EQ(outcome.left, 1ms);
}

// --- the meaning of a body stays the same

// Adds one to `to` in an open nested block.
void add_openly(tx& t, var<int>& to) {
    open_nested(t, {{&to}}, [&](tx& i) { to.set(i, to.get(i) + 1); }, [&to](tx& u) { to.set(u, to.get(u) - 1); });
}

// In an irrevocable attempt, the second step would be a closed block, and would own data that the first step's undo
// needs.
TEST_F(deadline_test, keeps_open_nesting_near_the_deadline) {
    practise("two steps", 10ms);
    int attempts = 0;
    run({.name = "two steps", .deadline = 100ms}, [&](tx&) {
        ++attempts;
        EXPECT_FALSE(try_atomically([&](tx& n) {
            add_openly(n, x_);
            clock_.advance(65ms);
            y_.set(n, 1);
            EXPECT_EQ(mode_of(n), status::visible);
            add_openly(n, x_);
            std::jthread{[&] { EXPECT_EQ(x_.load(), 2); }}.join();
            cancel(n);
        }));
    });
    EXPECT_EQ(attempts, 1);
    EXPECT_EQ(x_.load(), 0);
}

TEST_F(deadline_test, restarts_an_irrevocable_attempt_for_open_nesting) {
    practise_in_vain("one step", 10ms);
    std::vector<status> modes;
    run({.name = "one step", .deadline = 30ms}, [&](tx& t) {
        modes.push_back(mode_of(t));
        add_openly(t, x_);
        std::jthread{[&] { EXPECT_EQ(x_.load(), 1); }}.join();
    });
    EXPECT_EQ(modes, (std::vector<status>{status::irrevocable, status::visible}));
    EXPECT_EQ(x_.load(), 1);
}

TEST_F(deadline_test, keeps_an_attempt_that_the_body_made_irrevocable) {
    practise("asked for", 10ms);
    int attempts = 0;
    run({.name = "asked for", .deadline = 30ms}, [&](tx& t) {
        ++attempts;
        t.become_irrevocable("an effect");
        add_openly(t, x_);
    });
    EXPECT_EQ(attempts, 1);
    EXPECT_EQ(x_.load(), 1);
}

// If an open nested block, or its undo, changes the reads of an optimistic attempt, that attempt starts over. So does
// an attempt that is visible only because of its deadline.
TEST_F(deadline_test, restarts_if_an_undo_overwrites_visible_reads) {
    practise_in_vain("undone", 10ms);
    std::vector<status> modes;
    run({.name = "undone", .deadline = 50ms}, [&](tx& t) {
        modes.push_back(mode_of(t));
        const bool first = modes.size() == 1;
        EXPECT_FALSE(try_atomically([&](tx& n) {
            add_openly(n, x_);
            if (first) {
                EXPECT_EQ(x_.get(n), 1);
            }
            cancel(n);
        }));
        y_.set(t, 1);
    });
    EXPECT_EQ(modes, (std::vector<status>{status::visible, status::visible}));
    EXPECT_EQ(x_.load(), 0);
    EXPECT_EQ(y_.load(), 1);
}

TEST_F(deadline_test, restarts_if_a_step_overwrites_visible_reads) {
    practise_in_vain("changed", 10ms);
    std::vector<status> modes;
    run({.name = "changed", .deadline = 50ms}, [&](tx& t) {
        modes.push_back(mode_of(t));
        if (modes.size() == 1) {
            EXPECT_EQ(x_.get(t), 0);
        }
        add_openly(t, x_);
        y_.set(t, 1);
    });
    EXPECT_EQ(modes, (std::vector<status>{status::visible, status::visible}));
    EXPECT_EQ(x_.load(), 1);
}

}  // namespace
}  // namespace tutti::core
