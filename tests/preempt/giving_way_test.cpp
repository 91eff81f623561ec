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
        : s{{.workers = 1, .contexts = contexts, .waiting = 3, .sheds = true, .ticks = "none"}} {
        EXPECT_TRUE(s.submit({spin, &busy, 5}));
        wait_until(busy.started);
    }
    ~overload() { busy.stop = true; }

    std::vector<int> hand_in(std::initializer_list<work> what) {
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
    std::vector<int> hand_in(unsigned level, std::optional<base::deadline> due = {}) {
        return hand_in({work{.run = mark, .priority = level, .due = due}});
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
// backlog. Catches a full queue that refuses urgent work, drops equally urgent work, or drops another job than the
// last.
class giving_way : public ::testing::TestWithParam<unsigned> {};

TEST_P(giving_way, the_least_urgent_goes_and_of_those_the_last) {
    const support::watchdog dog{"scheduler"};
    overload o{GetParam()};
    EXPECT_EQ(o.hand_in(1), indices{});
    EXPECT_EQ(o.hand_in(1), indices{});
    EXPECT_EQ(o.hand_in(2), indices{});
    EXPECT_EQ(o.hand_in(1), indices{3}) << "nothing is less urgent";
    EXPECT_EQ(o.hand_in(2), indices{1});
    EXPECT_EQ(o.hand_in(4), indices{0});
    EXPECT_EQ(o.hand_in(3), indices{4});
    EXPECT_EQ(o.hand_in(2), indices{7});
    const counts now = o.s.statistics();
    EXPECT_EQ(now.waiting[2] + now.waiting[3] + now.waiting[4], 3U);
    EXPECT_EQ(o.drain(), (indices{5, 6, 2}));
    const counts c = o.s.statistics();
    EXPECT_EQ(c.shed[1], 2U);
    EXPECT_EQ(c.shed[2], 1U);
    EXPECT_EQ(c.refused, 2U);
    EXPECT_EQ(c.accepted, c.finished + 3);
    EXPECT_EQ(o.hand_in(1), indices{}) << "there is room again";
}

TEST_P(giving_way, a_deadline_is_none_of_the_reasons_but_says_who_is_the_last) {
    const support::watchdog dog{"scheduler"};
    overload o{GetParam()};
    const auto now = base::now();
    EXPECT_EQ(o.hand_in(1, now + std::chrono::seconds{1}), indices{});
    EXPECT_EQ(o.hand_in(1, now + std::chrono::seconds{3}), indices{});
    EXPECT_EQ(o.hand_in(1, now + std::chrono::seconds{2}), indices{});
    EXPECT_EQ(o.hand_in(1, now), indices{3});
    EXPECT_EQ(o.hand_in(2), indices{1});
    EXPECT_EQ(o.hand_in(2), indices{2});
    EXPECT_EQ(o.drain(), (indices{4, 5, 0}));
}

TEST_P(giving_way, what_is_handed_in_together_gives_way_to_each_other) {
    const support::watchdog dog{"scheduler"};
    overload o{GetParam()};
    EXPECT_EQ(o.hand_in({work{.run = mark, .priority = 1}, work{.run = mark, .priority = 3}}), indices{});
    const indices away = o.hand_in({work{.run = mark, .priority = 1}, work{.run = mark, .priority = 1},
                                    work{.run = mark, .priority = 2}, work{.run = mark, .priority = 4}});
    EXPECT_EQ(away, (indices{3, 2, 0}));
    EXPECT_EQ(o.drain(), (indices{5, 1, 4}));
}

INSTANTIATE_TEST_SUITE_P(contexts, giving_way, ::testing::Values(8, 3, 1));

}  // namespace
}  // namespace tutti::preempt
