// The scheduler and the exploration, on programs without transactions whose schedules can be counted by hand.
#include <gtest/gtest.h>

#include <set>
#include <stdexcept>

#include "base/futex.hpp"
#include "explore.hpp"
#include "tutti/detail/shared.hpp"

namespace interleaving {
namespace {

using bodies = std::vector<std::function<void()>>;
using shared = tutti::detail::shared<std::uint32_t>;

constexpr auto order = std::memory_order_seq_cst;

/// Explores a program that `make` builds anew for every execution, and collects the values of `result` at the end.
template <class Result>
struct outcomes {
    exploration all;
    std::multiset<Result> seen;
};
template <class Make>
auto outcomes_of(unsigned preemptions, Make make) {
    using result = decltype(make().second());
    scheduler runs;
    outcomes<result> found;
    found.all = explore({.preemptions = preemptions, .exhaustive = 100'000, .random = 0}, [&](strategy& how) {
        auto [threads, end] = make();
        trial t{runs.run(threads, how), std::nullopt};
        if (t.ran.end != ending::complete) t.failure = "did not end";
        if (!t.failure) found.seen.insert(end());
        return t;
    });
    return found;
}

void increment(shared& counter) { counter.store(counter.load(order) + 1, order); }

TEST(scheduler, without_preemptions_threads_run_one_after_the_other) {
    auto counter = std::make_shared<shared>();
    const auto found = outcomes_of(0, [&] {
        counter->reset(0);
        return std::pair{bodies(3, [=] { increment(*counter); }), [=] { return counter->load(order); }};
    });
    EXPECT_EQ(found.all.exhaustive, 6U);  // 3! orders
    EXPECT_EQ(found.seen.count(3), 6U);
}

TEST(scheduler, one_preemption_loses_an_update) {
    auto counter = std::make_shared<shared>();
    const auto found = outcomes_of(1, [&] {
        counter->reset(0);
        return std::pair{bodies(2, [=] { increment(*counter); }), [=] { return counter->load(order); }};
    });
    // Bound 0: 2 schedules. Bound 1: the same 2, and for each thread an interruption before its load (no update is
    // lost, because the other thread runs to its end) or before its store (an update is lost).
    EXPECT_EQ(found.all.exhaustive, 2U + 2U + 4U);
    EXPECT_EQ(found.seen.count(1), 2U);
    EXPECT_EQ(found.all.complete_up_to, 1);
    EXPECT_EQ(found.all.diverged, 0U);
}

TEST(scheduler, unbounded_search_visits_every_interleaving_once) {
    auto counter = std::make_shared<shared>();
    scheduler runs;
    depth_first search{100};
    std::set<std::string> schedules;
    int executions = 0;
    do {
        counter->reset(0);
        const execution e = runs.run(bodies(2, [&] { increment(*counter); }), search);
        schedules.insert(to_string(e.decisions));
        ++executions;
    } while (search.next());
    // A thread has three steps (up to its load, up to its store, to its end), so there are C(6, 3) interleavings.
    EXPECT_EQ(executions, 20);
    EXPECT_EQ(schedules.size(), 20U);
}

TEST(scheduler, a_spinning_thread_waits_for_progress_of_others) {
    auto flag = std::make_shared<shared>();
    const auto found = outcomes_of(2, [&] {
        flag->reset(0);
        const auto wait = [=] {
            while (flag->load(order) == 0) tutti::base::spin_turn();
        };
        return std::pair{bodies{wait, wait, [=] { flag->store(1, order); }}, [=] { return flag->load(order); }};
    });
    EXPECT_FALSE(found.all.failed);
    EXPECT_EQ(found.all.complete_up_to, 2);
    EXPECT_LT(found.all.longest, 30U);
}

TEST(scheduler, spinning_for_ever_is_reported) {
    scheduler runs;
    replay usual{{}};
    shared never;
    const execution e = runs.run(bodies(2,
                                        [&] {
                                            while (never.load(order) == 0) tutti::base::spin_turn();
                                        }),
                                 usual);
    EXPECT_EQ(e.end, ending::runaway);
}

/// A flag with a sleeper. With `careful`, the waker changes the word that the sleeper compares.
auto sleeper_and_waker(bool careful, bool timed) {
    struct state {
        shared ready, sequence;
    };
    auto s = std::make_shared<state>();
    const auto wait = [=] {
        for (;;) {
            const std::uint32_t before = s->sequence.load(order);
            if (s->ready.load(order) == 1) return;
            tutti::base::futex_wait(s->sequence.raw(), before,
                                    timed ? std::optional{tutti::base::deadline{}} : std::nullopt);
        }
    };
    const auto wake = [=] {
        s->ready.store(1, order);
        if (careful) s->sequence.fetch_add(1, order);
        tutti::base::futex_wake_all(s->sequence.raw());
    };
    return std::pair{bodies{wait, wake}, [=] { return s->ready.load(order); }};
}

TEST(scheduler, a_correct_sleep_is_always_woken) {
    const auto found = outcomes_of(3, [] { return sleeper_and_waker(true, false); });
    EXPECT_FALSE(found.all.failed);
    EXPECT_EQ(found.all.complete_up_to, 3);
}

TEST(scheduler, a_lost_wake_up_is_a_deadlock) {
    const auto found = outcomes_of(1, [] { return sleeper_and_waker(false, false); });
    ASSERT_TRUE(found.all.failed);
    EXPECT_EQ(found.all.failed->ran.end, ending::deadlock);
    EXPECT_EQ(found.all.failed->ran.asleep, only(0));

    scheduler again;
    replay same{parse_schedule(to_string(found.all.failed->ran.decisions))};
    EXPECT_EQ(again.run(sleeper_and_waker(false, false).first, same).end, ending::deadlock);
}

TEST(scheduler, a_time_limit_ends_a_lost_sleep) {
    const auto found = outcomes_of(1, [] { return sleeper_and_waker(false, true); });
    EXPECT_FALSE(found.all.failed);
    EXPECT_GT(found.all.forced_timeouts, 0U);
}

TEST(scheduler, exceptions_travel_with_their_fiber) {
    shared word;
    scheduler runs;
    depth_first search{2};
    do {
        const auto body = [&](int me) {
            struct switches_while_unwinding {
                shared& at;
                ~switches_while_unwinding() { at.store(0, order); }
            };
            try {
                const switches_while_unwinding local{word};
                throw me;
            } catch (int caught) {
                word.store(0, order);
                EXPECT_EQ(caught, me);
                EXPECT_EQ(std::uncaught_exceptions(), 0);
                try {
                    throw;
                } catch (int again) {
                    word.store(0, order);
                    EXPECT_EQ(again, me);
                }
            }
        };
        const execution e = runs.run(bodies{[&] { body(1); }, [&] { body(2); }, [&] { body(3); }}, search);
        ASSERT_EQ(e.end, ending::complete);
    } while (search.next());
}

TEST(scheduler, random_schedules_repeat_by_seed) {
    const auto decisions = [](std::uint64_t seed) {
        scheduler runs;
        shared word;
        std::string all;
        explore({.preemptions = 0, .exhaustive = 1, .random = 20, .seed = seed}, [&](strategy& how) {
            const execution e = runs.run(bodies(3,
                                                [&] {
                                                    for (int i = 0; i < 5; ++i) increment(word);
                                                }),
                                         how);
            all += to_string(e.decisions) + ' ';
            return trial{e, std::nullopt};
        });
        return all;
    };
    EXPECT_EQ(decisions(7), decisions(7));
    EXPECT_NE(decisions(7), decisions(8));
}

TEST(schedule, is_written_and_read) {
    const schedule some{{12, 1}, {40, 0}};
    EXPECT_EQ(to_string(some), "12@1,40@0");
    EXPECT_EQ(parse_schedule("12@1,40@0"), some);
    EXPECT_TRUE(parse_schedule("-").empty());
    for (const char* wrong : {"", "12", "12@", "@1", "12@1,", "12@1 40@0", "x"}) {
        EXPECT_THROW(static_cast<void>(parse_schedule(wrong)), std::invalid_argument) << wrong;
    }
}

}  // namespace
}  // namespace interleaving
