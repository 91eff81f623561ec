// The conditions under which the adaptive policy serialises a site, and the effects on queued executions.
#include "policies/adaptive.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <thread>

#include "base/clock.hpp"
#include "core/lifecycle/registry.hpp"
#include "policies/trial.hpp"
#include "support/effort.hpp"
#include "support/worker_group.hpp"
#include "tutti/tutti.hpp"

namespace tutti::policies {
namespace {

using phase = trial::phase;
using std::chrono::milliseconds;

TEST(contention_intensity_test, is_high_when_many_attempts_are_defeated) {
    contention_intensity rare, frequent;
    EXPECT_FALSE(frequent.is_high());
    for (int i = 0; i < 100; ++i) {
        rare.note_defeat(50);
        frequent.note_defeat(3);
    }
    EXPECT_FALSE(rare.is_high());
    EXPECT_TRUE(frequent.is_high());
    for (int i = 0; i < 100; ++i) frequent.note_defeat(std::uint64_t{1} << 60);  // the last one was long ago
    EXPECT_FALSE(frequent.is_high());
}

/// A site with a given number of executions per window, outside of the queue and within it.
struct site {
    class trial trial;
    base::deadline now{std::chrono::hours{1}};

    /// Runs one window. Returns true if the trial ended.
    bool pass_window(std::uint64_t executions) {
        for (std::uint64_t i = 1; i < executions; ++i) EXPECT_FALSE(trial.count_end(now));
        now += trial::window;
        return trial.count_end(now);
    }
    /// Runs a whole trial. Returns true if it ended early because the queue loses.
    bool pass_trial(std::uint64_t without, std::uint64_t within) {
        bool over = false;
        for (int round = 0; round < trial::rounds && !over; ++round) {
            EXPECT_EQ(trial.current_phase(), phase::unserialised);
            EXPECT_FALSE(pass_window(without));
            EXPECT_EQ(trial.current_phase(), phase::serialised);
            over = pass_window(within);
        }
        return over;
    }
};

TEST(trial_test, serialises_a_site_that_gains_by_it) {
    site s;
    EXPECT_TRUE(s.trial.begin(s.now));
    EXPECT_FALSE(s.trial.begin(s.now));
    EXPECT_FALSE(s.trial.is_serialising());
    EXPECT_FALSE(s.pass_trial(100, 150));
    EXPECT_EQ(s.trial.current_phase(), phase::serial);
    EXPECT_TRUE(s.trial.is_serialising());
    EXPECT_FALSE(s.trial.count_end(s.now));
    EXPECT_EQ(s.trial.current_phase(), phase::serial);
}

TEST(trial_test, stops_serialising_when_it_no_longer_pays) {
    site s;
    s.trial.begin(s.now);
    s.pass_trial(100, 150);
    s.now += trial::term;
    EXPECT_FALSE(s.trial.count_end(s.now));
    EXPECT_FALSE(s.pass_trial(100, 102));  // less than the gain that begins serialization, but not a loss
    EXPECT_EQ(s.trial.current_phase(), phase::serial);
    s.now += trial::term;
    s.trial.count_end(s.now);
    EXPECT_TRUE(s.pass_trial(100, 90));
    EXPECT_TRUE(s.trial.is_resting());
}

TEST(trial_test, needs_every_round_to_be_won) {
    site s;
    s.trial.begin(s.now);
    EXPECT_FALSE(s.pass_window(100));
    EXPECT_FALSE(s.pass_window(1000));
    EXPECT_FALSE(s.pass_window(100));
    EXPECT_TRUE(s.pass_window(100));
    EXPECT_TRUE(s.trial.is_resting());
}

TEST(trial_test, becomes_rare_after_lost_trials) {
    site s;
    milliseconds rest = trial::min_rest;
    for (int i = 0; i < 10; ++i) {
        ASSERT_TRUE(s.trial.may_begin(s.now));
        ASSERT_TRUE(s.trial.begin(s.now));
        EXPECT_TRUE(s.pass_trial(100, 105));  // too little gain
        EXPECT_FALSE(s.trial.may_begin(s.now + rest - milliseconds{1}));
        EXPECT_FALSE(s.trial.begin(s.now + rest - milliseconds{1}));
        s.now += rest;
        rest = std::min(2 * rest, trial::max_rest);
    }
}

TEST(trial_test, extends_a_window_with_few_executions) {
    site s;
    s.trial.begin(s.now);
    EXPECT_FALSE(s.pass_window(trial::min_executions - 1));
    EXPECT_EQ(s.trial.current_phase(), phase::unserialised);
    s.now += trial::max_windows * trial::window;
    EXPECT_FALSE(s.trial.count_end(s.now));
    EXPECT_EQ(s.trial.current_phase(), phase::serialised);
}

TEST(trial_test, ends_when_a_site_becomes_idle) {
    site s;
    EXPECT_FALSE(s.trial.end_if_idle(s.now));
    s.trial.begin(s.now);
    s.pass_trial(100, 150);
    s.now += trial::term;
    EXPECT_FALSE(s.trial.end_if_idle(s.now));
    s.now += trial::max_windows * trial::window;
    EXPECT_TRUE(s.trial.end_if_idle(s.now));
    EXPECT_TRUE(s.trial.is_resting());
    EXPECT_FALSE(s.trial.end_if_idle(s.now));
}

class serialised_site_test : public testing::Test {
protected:
    explicit serialised_site_test(max_queue_wait how = max_queue_wait::unlimited) { enqueue_for_test(how); }
    ~serialised_site_test() override { enqueue_for_test(max_queue_wait::as_measured); }
    static constexpr options adaptive_block{.policy = tutti::policy::adaptive};
};

TEST_F(serialised_site_test, defeats_no_execution) {
    constexpr unsigned threads = 6;
    const auto each = static_cast<long>(support::rounds(2000));
    var<long> x;
    std::atomic<long> attempts{0};
    support::run_threads(threads, [&](unsigned) {
        for (long i = 0; i < each; ++i) {
            atomically(adaptive_block, [&](tx& t) {
                attempts.fetch_add(1, std::memory_order_relaxed);
                x.set(t, x.get(t) + 1);
            });
        }
    });
    EXPECT_EQ(x.load(), threads * each);
    EXPECT_EQ(attempts.load(), threads * each);
}

/// Runs a block that continues once another one is queued behind it, and then ends as `end` does.
template <class End>
void be_followed(End end) {
    var<int> x, y;
    std::latch ahead{1};
    core::descriptor* first = nullptr;
    std::atomic<core::descriptor*> second{nullptr};
    const auto run = [&](bool mine) {
        atomically({.policy = tutti::policy::adaptive}, [&](tx& t) {
            if (!mine) return y.set(t, 1);
            if (first == nullptr) {
                first = &core::descriptor::of(t);
                ahead.count_down();
            }
            while (second.load() == nullptr || second.load()->waits_for.load(std::memory_order_relaxed) != first) {
                std::this_thread::yield();
            }
            EXPECT_EQ(y.load(), 0);
            end(t, x);
        });
    };
    std::thread follower{[&] {
        ahead.wait();
        second = &core::attach();
        run(false);
        EXPECT_EQ(y.load(), 1);
    }};
    std::thread{[&] {
        try {
            run(true);
        } catch (const std::runtime_error&) {}
    }}.join();
    follower.join();
}

TEST_F(serialised_site_test, keeps_the_place_of_a_restarted_execution) {
    int attempts = 0;
    be_followed([&](tx& t, var<int>& x) {
        static_cast<void>(x.get(t));
        if (++attempts < 4) std::thread{[&] { x.store(attempts); }}.join();
        x.set(t, 7);
    });
    EXPECT_EQ(attempts, 4);
}

TEST_F(serialised_site_test, continues_after_an_execution_ends_by_exception) {
    be_followed([](tx&, var<int>&) { throw std::runtime_error{"dead"}; });
}

TEST_F(serialised_site_test, passes_an_execution_that_sleeps_in_retry) {
    var<bool> open;
    std::latch ahead{1};
    int attempts = 0;
    const auto run = [&](bool opens) {
        atomically(adaptive_block, [&](tx& t) {
            if (opens) return open.set(t, true);
            if (++attempts == 1) ahead.count_down();
            if (!open.get(t)) retry(t);
        });
    };
    std::thread opener{[&] {
        ahead.wait();
        run(true);
    }};
    run(false);
    opener.join();
    EXPECT_GE(attempts, 2);
}

class briefly_serialised_site_test : public serialised_site_test {
protected:
    briefly_serialised_site_test() : serialised_site_test{max_queue_wait::one_millisecond} {}
};

TEST_F(briefly_serialised_site_test, ends_a_wait_for_executions_behind) {
    var<int> x, y;
    std::latch ahead{1}, passed{1};
    const auto run = [&](bool first) {
        atomically(adaptive_block, [&](tx& t) {
            if (!first) return y.set(t, 1);
            ahead.count_down();
            passed.wait();
            x.set(t, 1);
        });
    };
    std::thread behind{[&] {
        ahead.wait();
        run(false);
        passed.count_down();
    }};
    run(true);
    behind.join();
    EXPECT_EQ(x.load() + y.load(), 2);
}

TEST(listening_test, follows_the_policy_in_force) {
    const std::string before{policy_in_force()};
    use_policy("patient");
    const std::uint32_t quiet = core::listeners.load(std::memory_order_relaxed);
    for (const char* loud : {"priority", "deadline", "serialize-soft"}) {
        use_policy(loud);
        EXPECT_EQ(core::listeners.load(std::memory_order_relaxed), quiet + 1) << loud;
        use_policy(loud);
        EXPECT_EQ(core::listeners.load(std::memory_order_relaxed), quiet + 1) << loud;
    }
    use_policy("adaptive");
    EXPECT_EQ(core::listeners.load(std::memory_order_relaxed), quiet);
    use_policy(before);
}

TEST(listening_test, lasts_as_long_as_a_trial) {
    const std::string before{policy_in_force()};
    use_policy("adaptive");
    base::manual_clock clock;
    var<int> contended, other;
    const auto pass_time_elsewhere = [&] {
        clock.advance(std::chrono::hours{1});
        for (int i = 0; i < 1000; ++i) atomically({.policy = tutti::policy::adaptive}, [&](tx& t) { other.set(t, i); });
        return core::listeners.load(std::memory_order_relaxed);
    };
    const std::uint32_t quiet = pass_time_elsewhere();  // the trials of other tests are over
    int attempts = 0;
    atomically([&](tx& t) {
        static_cast<void>(contended.get(t));
        if (++attempts < 50) std::thread{[&] { contended.store(attempts); }}.join();
        contended.set(t, 0);
    });
    EXPECT_EQ(core::listeners.load(std::memory_order_relaxed), quiet + 1);
    EXPECT_EQ(pass_time_elsewhere(), quiet);
    use_policy(before);
}

}  // namespace
}  // namespace tutti::policies
