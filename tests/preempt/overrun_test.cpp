// Stack overflows. The procedure ends, whatever it was doing, and nothing else does. Catches a server that dies of it,
// a lost context, a transaction that stays open, and a roll-back over frames that no longer exist.
#include "preempt/overrun.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <deque>

#include "preempt/procedures/divers.hpp"
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
    how.ticks = ticks;
    return how;
}

work given_up(void (*run)(void*) noexcept, diver& d, unsigned level = 1) {
    return {.run = run, .argument = &d, .priority = level, .due = {}, .cut_off = cut_off};
}

class overrun : public of_each_source {
protected:
    /// Runs one diver after another on the same few contexts, and other work after each of them.
    template <class F>
    void dive_often(void (*run)(void*) noexcept, F&& look) {
        const support::watchdog dog{"overrun"};
        scheduler s{small(GetParam())};
        add_procedures(s);
        tutti::var<int> shared{0};
        const std::size_t count = support::rounds(20);
        for (std::size_t i = 0; i < count; ++i) {
            diver d;
            d.of = &shared;
            std::atomic<int> clock{0};
            marker after{&clock};
            ASSERT_TRUE(s.submit(given_up(run, d)));
            ASSERT_TRUE(s.submit({mark, &after, 1}));
            s.drain();
            EXPECT_EQ(after.at, 1);
            EXPECT_EQ(d.ended, 0);
            EXPECT_EQ(shared.load(), 0);
            // No orec is held, and nothing is counted twice.
            tutti::atomically([&](tutti::tx& t) { shared.set(t, shared.get(t)); });
            look(d);
            dog.progress();
        }
        EXPECT_EQ(s.statistics().finished, 2 * count);
    }
};

TEST_P(overrun, outside_of_transactions_a_procedure_is_cut_off) {
    dive_often(dive, [](const diver& d) { EXPECT_EQ(d.cut, 1); });
}

// Catches procedures compiled without probes of large frames: such a frame would reach foreign memory.
TEST_P(overrun, a_single_frame_steps_over_nothing) {
    dive_often(dive_at_once, [](const diver& d) { EXPECT_EQ(d.cut, 1); });
}

// Most faults find the C library at work, which must not be left in the middle.
TEST_P(overrun, library_code_ends_what_it_does) {
    dive_often(dive_allocating, [](const diver& d) { EXPECT_EQ(d.cut, 1); });
    delete[] new char[100];
}

TEST_P(overrun, a_transaction_leaves_by_an_exception_at_its_next_barrier) {
    dive_often(dive_reading, [](const diver& d) {
        EXPECT_EQ(d.threw, 1);
        EXPECT_EQ(d.living, 0) << "a destructor did not run";
    });
}

TEST_P(overrun, a_transaction_without_barriers_is_rolled_back_where_it_stands) {
    dive_often(dive_owning, [](const diver& d) {
        EXPECT_EQ(d.cut, 1);
        EXPECT_EQ(d.undone, seen_in_frame);
    });
}

TEST_P(overrun, so_are_those_inside_each_other) {
    dive_often(dive_apart, [](const diver& d) {
        EXPECT_EQ(d.cut, 1);
        EXPECT_EQ(d.undone, seen_in_frame);
    });
}

TEST_P(overrun, others_are_not_disturbed) {
    const support::watchdog dog{"overrun"};
    scheduler s{small(GetParam())};
    add_procedures(s);
    std::atomic<bool> stop{false};
    keeper low{&stop, 1};
    ASSERT_TRUE(s.submit({keep, &low, 1}));
    tutti::var<int> shared{0};
    const std::string_view ticks = GetParam();
    std::deque<diver> divers;
    const std::size_t count = ticks == "none" ? 0 : support::rounds(20);
    for (std::size_t i = 0; i < count; ++i) {
        wait_for_progress(low.turns);
        diver& d = divers.emplace_back();
        d.of = &shared;
        ASSERT_TRUE(s.submit(given_up(i % 2 == 0 ? dive : dive_owning, d, 2)));
        wait_for_count(d.cut, 1);
        dog.progress();
    }
    stop = true;
    s.drain();
    EXPECT_TRUE(low.right.load());
}

const char* floor_of_this_context() { return scheduler::current()->room.bottom(); }

// The kernel finds no room for the tick's signal frame.
TEST_P(overrun, a_tick_needs_no_room_on_the_stack_of_whom_it_interrupts) {
    const std::string_view ticks = GetParam();
    if (ticks == "none") GTEST_SKIP() << "it has none";
    const support::watchdog dog{"overrun"};
    scheduler s{small(GetParam())};
    add_procedures(s);
    for (int i = 0; i < 3; ++i) {
        diver deep;
        deep.floor = floor_of_this_context;
        std::atomic<int> clock{0};
        marker high{&clock};
        ASSERT_TRUE(s.submit(given_up(dive_to_the_floor, deep)));
        wait_for_progress(deep.turns);
        ASSERT_TRUE(s.submit({mark, &high, 3}));
        wait_for_count(clock, 1);
        wait_for_progress(deep.turns);
        deep.stop = true;
        s.drain();
        EXPECT_EQ(deep.ended, 1);
        EXPECT_EQ(deep.cut, 0);
    }
}

INSTANTIATE_TEST_SUITE_P(sources, overrun, ::testing::Values("kernel", "on-demand", "periodic", "none"));

char* closed_page = nullptr;
std::atomic<int> opened{0};
void open_page(int, siginfo_t* what, void*) {
    if (what->si_addr != closed_page) std::abort();
    ::mprotect(closed_page, 4096, PROT_READ | PROT_WRITE);
    ++opened;
}

TEST(overruns, every_other_fault_goes_to_the_handler_before) {
    const support::watchdog dog{"overrun"};
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
    EXPECT_EQ(after.sa_sigaction, &open_page) << "it is put back";
    ::munmap(closed_page, 4096);
}

// It is unknown which locks the C library holds between the frames of a procedure.
TEST(overruns, a_library_that_calls_back_is_never_left) {
    EXPECT_DEATH(
        {
            scheduler s{small("on-demand")};
            add_procedures(s);
            diver d;
            if (s.submit(given_up(dive_through_qsort, d))) s.drain();
        },
        "has run over its stack, and over the reserve");
}

TEST(overruns, whom_nobody_can_tell_is_not_cut_off) {
    EXPECT_DEATH(
        {
            scheduler s{small("on-demand")};
            add_procedures(s);
            diver d;
            if (s.submit({dive, &d, 1})) s.drain();
        },
        "has run over its stack, and over the reserve");
}

}  // namespace
}  // namespace tutti::preempt
