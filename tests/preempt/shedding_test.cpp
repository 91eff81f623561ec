// A full queue drops the least urgent work for more urgent work.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <initializer_list>
#include <optional>
#include <vector>

#include "preempt/procedures/busy.hpp"
#include "preempt/progress.hpp"
#include "preempt/scheduler.hpp"
#include "support/watchdog.hpp"

namespace tutti::preempt {
namespace {

using namespace procedures;

/// Submits one or several markers at a level. Returns the markers that will not run.
class overload {
public:
    explicit overload(unsigned contexts)
        : s{{.workers = 1, .contexts = contexts, .max_waiting = 3, .sheds = true, .tick_source = "none"}} {
        EXPECT_TRUE(s.submit({spin, &busy, 5}));
        wait_until(busy.started);
    }
    ~overload() { busy.stop = true; }

    std::vector<int> submit(std::initializer_list<work> what) {
        std::vector<work> all;
        for (work w : what) {
            w.run = mark;
            w.argument = &m.emplace_back(&clock);
            all.push_back(w);
        }
        std::vector<int> away;
        for (const work& w : s.submit(all)) away.push_back(index_of(w.argument));
        return away;
    }
    std::vector<int> submit(unsigned level, std::optional<base::deadline> due = {}) {
        return submit({work{.run = mark, .priority = level, .due = due}});
    }
    /// Returns the markers in the order in which they ran.
    std::vector<int> drain() {
        busy.stop = true;
        s.drain();
        std::vector<int> ran(static_cast<std::size_t>(clock.load()));
        for (const marker& one : m) {
            if (one.at != 0) ran[static_cast<std::size_t>(one.at - 1)] = index_of(&one);
        }
        return ran;
    }

private:
    [[nodiscard]] int index_of(const void* argument) const {
        return static_cast<int>(std::ranges::find(m, argument, [](const marker& x) -> const void* { return &x; }) -
                                m.begin());
    }
    spinner busy;
    std::atomic<int> clock{0};
    std::deque<marker> m;

public:
    scheduler s;  // last, because it runs the members above
};

using indices = std::vector<int>;

// The tests run with contexts for all markers, for some, and for none; in the last case, most markers wait in the
// admission queue. Catches a full queue that refuses urgent work, drops equally urgent work, or drops a job other than
// the last one.
class shedding_test : public ::testing::TestWithParam<unsigned> {};

TEST_P(shedding_test, sheds_the_last_of_the_least_urgent) {
    const support::watchdog dog{"scheduler"};
    overload o{GetParam()};
    EXPECT_EQ(o.submit(1), indices{});
    EXPECT_EQ(o.submit(1), indices{});
    EXPECT_EQ(o.submit(2), indices{});
    EXPECT_EQ(o.submit(1), indices{3}) << "nothing is less urgent";
    EXPECT_EQ(o.submit(2), indices{1});
    EXPECT_EQ(o.submit(4), indices{0});
    EXPECT_EQ(o.submit(3), indices{4});
    EXPECT_EQ(o.submit(2), indices{7});
    const counts now = o.s.statistics();
    EXPECT_EQ(now.unstarted_by_level[2] + now.unstarted_by_level[3] + now.unstarted_by_level[4], 3U);
    EXPECT_EQ(o.drain(), (indices{5, 6, 2}));
    const counts c = o.s.statistics();
    EXPECT_EQ(c.shed_by_level[1], 2U);
    EXPECT_EQ(c.shed_by_level[2], 1U);
    EXPECT_EQ(c.refused, 2U);
    EXPECT_EQ(c.accepted, c.finished + 3);
    EXPECT_EQ(o.submit(1), indices{}) << "there is room again";
}

TEST_P(shedding_test, deadlines_only_order_equal_levels) {
    const support::watchdog dog{"scheduler"};
    overload o{GetParam()};
    const auto now = base::now();
    EXPECT_EQ(o.submit(1, now + std::chrono::seconds{1}), indices{});
    EXPECT_EQ(o.submit(1, now + std::chrono::seconds{3}), indices{});
    EXPECT_EQ(o.submit(1, now + std::chrono::seconds{2}), indices{});
    EXPECT_EQ(o.submit(1, now), indices{3});
    EXPECT_EQ(o.submit(2), indices{1});
    EXPECT_EQ(o.submit(2), indices{2});
    EXPECT_EQ(o.drain(), (indices{4, 5, 0}));
}

TEST_P(shedding_test, works_of_one_batch_replace_each_other) {
    const support::watchdog dog{"scheduler"};
    overload o{GetParam()};
    EXPECT_EQ(o.submit({work{.run = mark, .priority = 1}, work{.run = mark, .priority = 3}}), indices{});
    const indices away = o.submit({work{.run = mark, .priority = 1}, work{.run = mark, .priority = 1},
                                   work{.run = mark, .priority = 2}, work{.run = mark, .priority = 4}});
    EXPECT_EQ(away, (indices{3, 2, 0}));
    EXPECT_EQ(o.drain(), (indices{5, 1, 4}));
}

INSTANTIATE_TEST_SUITE_P(contexts, shedding_test, ::testing::Values(8, 3, 1));

}  // namespace
}  // namespace tutti::preempt
