// Thread-local storage of contexts that interrupt each other on one worker.
//
// Catches a thread_local variable that another call changes in between, and a scheduler without room for large ones.
// Catches an area of the C library that the kernel does not keep for a context. Catches work that is lost, or runs with
// another context's variables, if no thread can be started.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <deque>
#include <stdexcept>

#include "preempt/procedures/thread_local_users.hpp"
#include "preempt/progress.hpp"
#include "preempt/sanitizers.hpp"
#include "preempt/scheduler.hpp"
#include "support/watchdog.hpp"

#if !defined(TUTTI_ASAN)
namespace {
std::atomic<bool> no_more_threads{false};
}

// Replaces the C library's function in the whole test program.
extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* how, void* (*run)(void*),
                              void* argument) noexcept {
    static const auto real = reinterpret_cast<int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*)>(
        ::dlsym(RTLD_NEXT, "pthread_create"));
    return no_more_threads ? EAGAIN : real(thread, how, run, argument);
}
#endif

namespace tutti::preempt {
namespace {

using namespace procedures;

/// Returns true if an interrupted procedure finds its vector unchanged, although the interrupting procedure has emptied
/// its own vector.
bool is_intact(const options& how) {
    const support::watchdog dog{"thread-locals"};
    scheduler s{how};
    add_procedures(s);
    scratch_user low;
    std::atomic<int> emptied{0};
    EXPECT_TRUE(s.submit({use_scratch, &low, 1}));
    wait_until(low.filled);
    EXPECT_TRUE(s.submit({empty_scratch, &emptied, 3}));
    wait_for_count(emptied, 1);
    EXPECT_FALSE(low.done);
    low.go = true;
    s.drain();
    EXPECT_EQ(s.statistics().preemptions, 1u);
    return low.intact;
}

TEST(thread_locals, belong_to_each_context_by_default) {
    if (!tls_block::is_available()) GTEST_SKIP() << "the base of FS cannot be set here";
    EXPECT_TRUE(is_intact({}));
    EXPECT_TRUE(is_intact({.tick_source = "periodic"}));
    EXPECT_TRUE(is_intact({.migrate = true}));
}

TEST(thread_locals, belong_to_the_worker_on_request) { EXPECT_FALSE(is_intact({.shared_thread_locals = true})); }

TEST(thread_locals, exclude_migration_if_shared) {
    EXPECT_THROW(scheduler({.migrate = true, .shared_thread_locals = true}), std::invalid_argument);
}

TEST(thread_locals, keep_sched_getcpu_correct) {
    const support::watchdog dog{"thread-locals"};
    scheduler s{{.workers = 1}};
    add_procedures(s);
    processor_changer t;
    ASSERT_TRUE(s.submit({change_processors, &t, 1}));
    s.drain();
    EXPECT_GT(t.visited, 0);
    EXPECT_EQ(t.wrong, 0);
}

#if !defined(TUTTI_ASAN)
TEST(thread_locals, reject_work_without_a_lender_thread) {
    if (!tls_block::is_available()) GTEST_SKIP() << "the base of FS cannot be set here";
    const support::watchdog dog{"thread-locals"};
    static std::atomic<int> turned_away;
    turned_away = 0;
    scheduler s{{.workers = 1, .contexts = 8}};
    add_procedures(s);
    std::deque<spinner> busy;
    const auto submit_work = [&](unsigned level) {
        ASSERT_TRUE(s.submit(
            {.run = spin, .argument = &busy.emplace_back(), .priority = level, .on_rejection = [](void*) noexcept {
                 ++turned_away;
             }}));
    };
    no_more_threads = true;
    unsigned level = 0;
    for (; turned_away == 0; ++level) {  // each job interrupts the previous one, as long as blocks are left
        ASSERT_LT(level, 6u);
        submit_work(level);
        while (!busy.back().started && turned_away == 0) std::this_thread::yield();
    }
    EXPECT_GT(level, 1u) << "some are prepared at the start";
    no_more_threads = false;
    submit_work(5);
    wait_until(busy.back().started);
    for (spinner& b : busy) b.stop = true;
    s.drain();
    EXPECT_EQ(turned_away, 1);
    EXPECT_EQ(s.statistics().finished, busy.size());
}
#endif

}  // namespace
}  // namespace tutti::preempt
