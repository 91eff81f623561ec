// Procedures that leave atomic blocks by a jump. Catches a block that stays open on its context. The next procedure
// there would join the block, answer with uncommitted values, and block others from the data that the block owns.
#include <gtest/gtest.h>

#include "preempt/procedures/jumps.hpp"
#include "preempt/progress.hpp"
#include "preempt/sanitizers.hpp"
#include "support/watchdog.hpp"

namespace tutti::preempt {
namespace {

using namespace procedures;

options of_one_worker(const char* ticks) {
    options how;
    how.contexts = 2;
    how.tick_source = ticks;
    return how;
}

struct way {
    const char* name;
    void (*leave)(void*) noexcept;
    bool outer_commits = false;  // true: the block around the abandoned one commits its write to `apart`
};

struct abandoned_block_test : ::testing::TestWithParam<way> {};

#if defined(TUTTI_ASAN) || defined(TUTTI_TSAN)
constexpr bool library_sees_jumps = false;  // the sanitizer's longjmp comes before the library's
#else
constexpr bool library_sees_jumps = true;
#endif

TEST_P(abandoned_block_test, is_rolled_back) {
    if (GetParam().outer_commits && !library_sees_jumps)
        GTEST_SKIP() << "an unseen jump out of an inner block is only found when the outer one has ended";
    for (const char* const ticks : {"on-demand", "none"}) {
        const support::watchdog dog{"abandoned block"};
        scheduler s{of_one_worker(ticks)};
        add_procedures(s);
        for (int i = 0; i < 4; ++i) {
            tutti::var<long> of{0}, apart{0};
            block_leaver l;
            l.of = &of;
            l.apart = &apart;
            ASSERT_TRUE(s.submit({GetParam().leave, &l, 1}));
            s.drain();
            EXPECT_EQ(l.came_back, 1);
            EXPECT_EQ(l.undone, 1);
            EXPECT_EQ(of.load(), 0) << "the block's write is visible";
            const long before = GetParam().outer_commits ? 1 : 0;
            EXPECT_EQ(apart.load(), before);
            // The next procedure runs on the same context.
            ASSERT_TRUE(s.submit({jump_inside, &l, 1}));
            s.drain();
            EXPECT_EQ(l.came_back, 2);
            EXPECT_EQ(of.load(), 1) << "the next procedure has not committed";
            EXPECT_EQ(apart.load(), before + 1);
            dog.progress();
        }
        EXPECT_EQ(s.statistics().finished, 8U);
    }
}

INSTANTIATE_TEST_SUITE_P(ways, abandoned_block_test,
                         ::testing::Values(way{"longjmp", leave_by_longjmp}, way{"handler", leave_from_handler},
                                           way{"two_blocks", leave_two_blocks},
                                           way{"inner_block", leave_inner_block, true},
                                           way{"irrevocable_block", leave_irrevocable_block},
                                           way{"open_nested_block", leave_open_nested_block},
                                           way{"unseen", leave_unseen}, way{"two_unseen", leave_two_unseen}),
                         [](const auto& of) { return std::string{of.param.name}; });

}  // namespace
}  // namespace tutti::preempt
