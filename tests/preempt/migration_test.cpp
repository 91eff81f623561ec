// Contexts that continue on another worker, each with its own block of thread-local variables.
//
// Catches a context that takes over another thread's errno, thread_locals or exceptions, and one that an idle worker
// does not take over.
#include <gtest/gtest.h>

#include <deque>

#include "preempt/procedures/accounts.hpp"
#include "preempt/procedures/migrating_call.hpp"
#include "preempt/progress.hpp"
#include "preempt/scheduler.hpp"
#include "support/effort.hpp"
#include "support/watchdog.hpp"

namespace tutti::preempt {
namespace {

using namespace procedures;

// In each round, the worker of the migrating call gets work of a higher level, and the other worker becomes idle.
TEST(migration, errno_and_thread_locals_stay_right) {
    if (!tls_block::is_available()) GTEST_SKIP() << "the base of FS cannot be set here";
    const support::watchdog dog{"migration"};
    scheduler s{{.workers = 2, .contexts = 8, .migrate = true}};
    add_procedures(s);
    std::deque<spinner> high;
    migrating_call low{1234};
    ASSERT_TRUE(s.submit({spin, &high.emplace_back(), 3}));
    wait_until(high.back().started);
    ASSERT_TRUE(s.submit({run_migrating, &low, 1}));
    wait_for_progress(low.turns);
    const int count = static_cast<int>(support::rounds(40));
    for (int i = 0; i < count; ++i) {
        spinner& before = high.back();
        ASSERT_TRUE(s.submit({spin, &high.emplace_back(), 3}));
        wait_until(high.back().started);
        before.stop = true;
        wait_for_progress(low.turns);
        // One round of the call's loop may have been in progress. The second round is on the other worker.
        wait_for_progress(low.turns);
        ASSERT_EQ(low.moves, i + 1);
        dog.progress();
    }
    high.back().stop = true;
    low.stop = true;
    s.drain();
    EXPECT_TRUE(low.right);
}

TEST(migration, transactions_continue_where_they_were) {
    if (!tls_block::is_available()) GTEST_SKIP() << "the base of FS cannot be set here";
    const support::watchdog dog{"migration"};
    bank b;
    scheduler s{{.workers = 2, .contexts = 16, .migrate = true}};
    add_procedures(s);
    std::atomic<bool> stop{false};
    transfers low[3] = {{&b, 1, &stop, 20, 500}, {&b, 2, &stop, 20, 500}, {&b, 3, &stop, 20, 500}};
    unsigned level = 1;
    for (transfers& l : low) ASSERT_TRUE(s.submit({transfer, &l, level++}));
    std::deque<transfers> high;
    std::deque<audit> audits;
    for (std::size_t i = 0; i < support::rounds(60); ++i) {
        for (unsigned l = 4; l <= 5; ++l) {
            ASSERT_TRUE(s.submit({transfer, &high.emplace_back(&b, i * 7 + l, nullptr, 4, 100), l}));
        }
        ASSERT_TRUE(s.submit({check_total, &audits.emplace_back(&b, 0), 5}));
        wait_for_progress(low[2].reads);
        dog.progress();
    }
    stop = true;
    s.drain();
    for (const transfers& t : high) ASSERT_EQ(t.done, 1);
    for (const audit& a : audits) ASSERT_EQ(a.wrong, 0);
    long total = 0;
    for (const auto& m : b.money) total += m.load();
    EXPECT_EQ(total, 0);
}

}  // namespace
}  // namespace tutti::preempt
