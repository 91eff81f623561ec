// Stack overflows. The procedure ends, whatever it was doing, and nothing else does. Catches a server that crashes, a
// lost context, a transaction that stays open, and a roll-back over frames that no longer exist.
#include "preempt/stack_overflow.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <deque>

#include "preempt/procedures/deep_stack.hpp"
#include "preempt/progress.hpp"
#include "preempt/scheduler.hpp"
#include "support/effort.hpp"
#include "support/watchdog.hpp"

namespace tutti::preempt {
namespace {

using namespace procedures;

constexpr std::size_t stack_bytes = 64 * 1024;

options small(const char* ticks) {
    options how;
    how.contexts = 4;
    how.stack_bytes = stack_bytes;
    how.tick_source = ticks;
    return how;
}

work terminable_work(void (*run)(void*) noexcept, deep_stack& d, unsigned level = 1) {
    return {.run = run, .argument = &d, .priority = level, .due = {}, .on_termination = on_termination};
}

class stack_overflow_test : public of_each_source {
protected:
    /// Submits the procedure `run` repeatedly to one scheduler with few contexts, each time followed by the work
    /// `mark`. When both are over, calls `check`.
    template <class F>
    void overflow_often(void (*run)(void*) noexcept, F&& check) {
        const support::watchdog dog{"stack overflow"};
        scheduler s{small(GetParam())};
        add_procedures(s);
        tutti::var<int> shared{0};
        const std::size_t count = support::rounds(20);
        for (std::size_t i = 0; i < count; ++i) {
            deep_stack d;
            d.of = &shared;
            std::atomic<int> clock{0};
            marker after{&clock};
            ASSERT_TRUE(s.submit(terminable_work(run, d)));
            ASSERT_TRUE(s.submit({mark, &after, 1}));
            s.drain();
            EXPECT_EQ(after.at, 1);
            EXPECT_EQ(d.ended, 0);
            EXPECT_EQ(shared.load(), 0);
            // No orec is owned, and nothing is counted twice.
            tutti::atomically([&](tutti::tx& t) { shared.set(t, shared.get(t)); });
            check(d);
            dog.progress();
        }
        EXPECT_EQ(s.statistics().finished, 2 * count);
    }
};

TEST_P(stack_overflow_test, terminates_outside_of_transactions) {
    overflow_often(recurse, [](const deep_stack& d) { EXPECT_EQ(d.terminations, 1); });
}

// Catches procedures compiled without probes of large frames: such a frame would reach foreign memory.
TEST_P(stack_overflow_test, catches_one_large_frame) {
    overflow_often(use_one_large_frame, [](const deep_stack& d) { EXPECT_EQ(d.terminations, 1); });
}

// Most faults find the C library at work, which must not be left in the middle.
TEST_P(stack_overflow_test, lets_library_code_finish) {
    overflow_often(recurse_allocating, [](const deep_stack& d) { EXPECT_EQ(d.terminations, 1); });
    delete[] new char[100];
}

TEST_P(stack_overflow_test, throws_at_the_next_barrier) {
    overflow_often(recurse_reading, [](const deep_stack& d) {
        EXPECT_EQ(d.threw, 1);
        EXPECT_EQ(d.live_objects, 0) << "a destructor did not run";
    });
}

TEST_P(stack_overflow_test, rolls_back_a_transaction_without_barriers) {
    overflow_often(recurse_owning, [](const deep_stack& d) {
        EXPECT_EQ(d.terminations, 1);
        EXPECT_EQ(d.undone, seen_in_frame);
    });
}

TEST_P(stack_overflow_test, rolls_back_nested_transactions_without_barriers) {
    overflow_often(recurse_open_nested, [](const deep_stack& d) {
        EXPECT_EQ(d.terminations, 1);
        EXPECT_EQ(d.undone, seen_in_frame);
    });
}

TEST_P(stack_overflow_test, leaves_other_contexts_alone) {
    const support::watchdog dog{"stack overflow"};
    scheduler s{small(GetParam())};
    add_procedures(s);
    std::atomic<bool> stop{false};
    keeper low{&stop, 1};
    ASSERT_TRUE(s.submit({keep, &low, 1}));
    tutti::var<int> shared{0};
    const std::string_view ticks = GetParam();
    std::deque<deep_stack> calls;
    const std::size_t count = ticks == "none" ? 0 : support::rounds(20);
    for (std::size_t i = 0; i < count; ++i) {
        wait_for_progress(low.turns);
        deep_stack& d = calls.emplace_back();
        d.of = &shared;
        ASSERT_TRUE(s.submit(terminable_work(i % 2 == 0 ? recurse : recurse_owning, d, 2)));
        wait_for_count(d.terminations, 1);
        dog.progress();
    }
    stop = true;
    s.drain();
    EXPECT_TRUE(low.right.load());
}

const char* floor_of_this_context() { return scheduler::current()->stack_memory.bottom(); }

// The kernel finds no room for the tick's signal frame.
TEST_P(stack_overflow_test, accepts_ticks_without_stack_room) {
    const std::string_view ticks = GetParam();
    if (ticks == "none") GTEST_SKIP() << "it has none";
    const support::watchdog dog{"stack overflow"};
    scheduler s{small(GetParam())};
    add_procedures(s);
    for (int i = 0; i < 3; ++i) {
        deep_stack deep;
        deep.floor = floor_of_this_context;
        std::atomic<int> clock{0};
        marker high{&clock};
        ASSERT_TRUE(s.submit(terminable_work(recurse_to_the_floor, deep)));
        wait_for_progress(deep.turns);
        ASSERT_TRUE(s.submit({mark, &high, 3}));
        wait_for_count(clock, 1);
        wait_for_progress(deep.turns);
        deep.stop = true;
        s.drain();
        EXPECT_EQ(deep.ended, 1);
        EXPECT_EQ(deep.terminations, 0);
    }
}

INSTANTIATE_TEST_SUITE_P(sources, stack_overflow_test, ::testing::Values("kernel", "on-demand", "periodic", "none"));

char* closed_page = nullptr;
std::atomic<int> opened{0};
void open_page(int, siginfo_t* what, void*) {
    if (what->si_addr != closed_page) std::abort();
    ::mprotect(closed_page, 4096, PROT_READ | PROT_WRITE);
    ++opened;
}

TEST(stack_overflow_handler_test, forwards_other_faults) {
    const support::watchdog dog{"stack overflow"};
    closed_page = static_cast<char*>(::mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    struct sigaction mine{}, before{};
    mine.sa_sigaction = open_page;
    mine.sa_flags = SA_SIGINFO;
    ::sigaction(SIGSEGV, &mine, &before);
    {
        scheduler s{small("on-demand")};
        add_procedures(s);
        pointer p{closed_page};
        ASSERT_TRUE(s.submit({write_through, &p, 1}));
        s.drain();
        EXPECT_TRUE(p.done);
        ::mprotect(closed_page, 4096, PROT_NONE);
        *static_cast<volatile char*>(closed_page) = 1;  // on a thread that is not a worker
    }
    EXPECT_EQ(opened, 2);
    struct sigaction after{};
    ::sigaction(SIGSEGV, &before, &after);
    EXPECT_EQ(after.sa_sigaction, &open_page) << "the handler is restored";
    ::munmap(closed_page, 4096);
}

// Library frames between the frames of a procedure must not be skipped, because the C library may hold any lock there.
TEST(stack_overflow_handler_test, never_skips_library_frames) {
    EXPECT_DEATH(
        {
            scheduler s{small("on-demand")};
            add_procedures(s);
            deep_stack d;
            if (s.submit(terminable_work(recurse_through_qsort, d))) s.drain();
        },
        "has overflowed its stack and the reserve");
}

TEST(stack_overflow_handler_test, does_not_terminate_without_a_callback) {
    EXPECT_DEATH(
        {
            scheduler s{small("on-demand")};
            add_procedures(s);
            deep_stack d;
            if (s.submit({recurse, &d, 1})) s.drain();
        },
        "has overflowed its stack and the reserve");
}

}  // namespace
}  // namespace tutti::preempt
