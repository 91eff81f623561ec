// Procedures that outlast their time and are ended where they are. Catches a procedure that keeps its worker forever
// because ticks find it in library code, or because it is not checked again. Catches a procedure that is cut off where
// it must not be, and steps that end the process.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <ctime>

#include "preempt/procedures/loiterers.hpp"
#include "preempt/procedures/owners.hpp"
#include "preempt/progress.hpp"
#include "preempt/scheduler.hpp"
#include "support/watchdog.hpp"

namespace tutti::preempt {
namespace {

using namespace procedures;

void submit(scheduler& s, void (*run)(void*) noexcept, loiterer& l, void*& carrier) {
    ASSERT_TRUE(s.submit({.run = run, .argument = &l, .priority = 1, .carrier = &carrier, .cut_off = end_loiterer}));
    wait_until(l.began);
}

/// Expects that the procedure is ended once, and that the worker continues with other work.
void expect_end(scheduler& s, loiterer& l) {
    wait_for_count(l.cut, 1);
    std::atomic<int> clock{0};
    marker after{&clock};
    ASSERT_TRUE(s.submit({mark, &after, 1}));
    s.drain();
    EXPECT_EQ(after.at, 1);
    EXPECT_EQ(l.cut, 1);
}

class doomed : public of_each_source {
protected:
    static options one_worker() {
        options how;
        how.ticks = GetParam();
        return how;
    }

    static void doom(void (*run)(void*) noexcept, loiterer& l) {
        const support::watchdog dog{"doomed"};
        scheduler s{one_worker()};
        add_procedures(s);
        void* carrier = nullptr;
        submit(s, run, l, carrier);
        s.end_where_it_stands(carrier, &l);
        expect_end(s, l);
    }
};

TEST_P(doomed, is_ended_in_its_own_code) {
    loiterer l;
    doom(loiter, l);
}

// Catches an end or an interruption that arrives after its work has ended, and hits the next work on the same context.
TEST_P(doomed, is_what_was_handed_in_and_not_what_follows_it) {
    const support::watchdog dog{"doomed"};
    scheduler s{one_worker()};
    add_procedures(s);
    loiterer first, second;
    void *of_first = nullptr, *of_second = nullptr;
    submit(s, loiter, first, of_first);
    s.end_where_it_stands(of_first, &first);
    while (s.statistics().finished == 0) std::this_thread::yield();
    submit(s, loiter, second, of_second);
    ASSERT_EQ(of_first, of_second) << "it runs on the same context";
    EXPECT_EQ(s.turn_of(of_first, &first), 0u);
    EXPECT_NE(s.turn_of(of_second, &second), 0u);
    s.end_where_it_stands(of_first, &first);
    std::this_thread::sleep_for(std::chrono::milliseconds{50});
    EXPECT_EQ(second.cut, 0);
    s.end_where_it_stands(of_second, &second);
    s.drain();
    EXPECT_EQ(second.cut, 1);
}

// Catches a context that is still doomed when it is used again.
TEST_P(doomed, is_one_and_not_the_next) {
    const support::watchdog dog{"doomed"};
    scheduler s{one_worker()};
    add_procedures(s);
    loiterer first, second;
    for (loiterer* const l : {&first, &second}) {
        void* carrier = nullptr;
        const std::uint64_t ended = s.statistics().finished;
        submit(s, loiter, *l, carrier);
        std::this_thread::sleep_for(std::chrono::milliseconds{50});
        EXPECT_EQ(l->cut, 0);
        s.end_where_it_stands(carrier, l);
        while (s.statistics().finished == ended) std::this_thread::yield();
        EXPECT_EQ(l->cut, 1);
    }
}

// Catches an irrevocable transaction that is ended in its middle: its effects cannot be rolled back.
TEST_P(doomed, is_spared_while_it_is_bound_to_commit) {
    const support::watchdog dog{"doomed"};
    static std::atomic<int> cut;
    cut = 0;
    var<int> x{0};
    owner o{.of = &x, .adds = 1, .mode = mode::irrevocable, .lets_go_on = false};
    scheduler s{one_worker()};
    add_procedures(s);
    void* carrier = nullptr;
    ASSERT_TRUE(s.submit(
        {.run = own, .argument = &o, .priority = 1, .carrier = &carrier, .cut_off = [](void*) noexcept { ++cut; }}));
    wait_for_count(o.attempts, 1);
    s.end_where_it_stands(carrier, &o);
    std::this_thread::sleep_for(std::chrono::milliseconds{50});
    EXPECT_EQ(cut, 0);
    o.go = true;
    s.drain();
    EXPECT_EQ(x.load(), 1);
}

TEST_P(doomed, is_ended_in_a_transaction_inside_another) {
    var<int> shared{0};
    loiterer l{.of = &shared};
    doom(loiter_owning, l);
    EXPECT_EQ(shared.load(), 0);
    atomically([&](tx& t) { shared.set(t, 1); });  // its orec is free
}

TEST_P(doomed, is_ended_although_it_swallows_every_exception) {
    var<int> shared{0};
    loiterer l{.of = &shared};
    doom(go_on_whatever_comes, l);
    EXPECT_EQ(shared.load(), 0);
}

// A tick never finds the procedure in its own code: it returns there only while it is stepped.
void stay_until_it_steps() {
    const context& mine = *scheduler::current();
    while (!mine.steps.under_way()) std::atomic_signal_fence(std::memory_order_seq_cst);
}

TEST_P(doomed, is_ended_although_every_tick_finds_library_code) {
    loiterer l{.away = stay_until_it_steps};
    doom(go_away, l);
}

// The end waits for the C library's code in between, with its locks, and for system calls.
TEST_P(doomed, is_ended_between_two_calls_of_the_c_library) {
    loiterer allocates{.away = [] { std::free(std::malloc(100)); }};
    doom(go_away, allocates);
    std::free(std::malloc(100));
    loiterer sleeps{.away = [] { ::usleep(100); }};
    doom(go_away, sleeps);
}

// A new thread begins with the trap flag that its creator has set, and the C library blocks every signal meanwhile.
TEST_P(doomed, that_makes_threads_ends_nobody_else) {
    loiterer l{.away = [] { std::thread{[] {}}.join(); }};
    doom(go_away, l);
}

// The rest of the procedure is stepped through, up to the switch to its worker's loop.
void end_in_steps(void* of_loiterer) noexcept {
    const context& mine = *scheduler::current();
    end_loiterer(of_loiterer);
    while (!mine.steps.under_way()) ::raise(tick_signal);
}

// Catches a step behind the switch to another context. If contexts have thread-local variables of their own, the trap
// handler does not know its worker for some instructions there, and the trap would end the process.
TEST(doomed_apart, leaves_its_worker_in_the_middle_of_a_step) {
    if (!tls_block::available()) GTEST_SKIP() << "the base of FS cannot be set here";
    const support::watchdog dog{"doomed"};
    scheduler s{{.migrate = true}};
    add_procedures(s);
    loiterer l;
    void* carrier = nullptr;
    ASSERT_TRUE(s.submit({.run = loiter, .argument = &l, .priority = 1, .carrier = &carrier, .cut_off = end_in_steps}));
    wait_until(l.began);
    s.end_where_it_stands(carrier, &l);
    expect_end(s, l);
}

// All pending ticks and the timer are consumed; the next barrier checks for other ready work.
void miss_every_tick() {
    const context& mine = *scheduler::current();
    stay_until_it_steps();
    while (mine.steps.under_way()) std::atomic_signal_fence(std::memory_order_seq_cst);
    sigset_t ticks;
    sigemptyset(&ticks);
    sigaddset(&ticks, tick_signal);
    ::pthread_sigmask(SIG_BLOCK, &ticks, nullptr);
    // The timer's tick, if the timer was set; only handlers set it. The limit is longer than the longest pause.
    constexpr timespec long_enough{0, 20'000'000};
    while (::sigtimedwait(&ticks, nullptr, &long_enough) == tick_signal) {}
    mine.descriptor->pending_tick.store(true);
}

void look_again() {
    sigset_t ticks;
    sigemptyset(&ticks);
    sigaddset(&ticks, tick_signal);
    ::pthread_sigmask(SIG_UNBLOCK, &ticks, nullptr);
}

// Only this tick source sets its timer for other contexts.
TEST(doomed_on_demand, is_looked_at_again_although_a_barrier_sets_the_timer_for_another_one) {
    const support::watchdog dog{"doomed"};
    var<int> coins{0}, shared{0};
    consumer waits{&coins, std::chrono::hours{1}};
    loiterer l{.away = miss_every_tick, .of = &shared, .back = look_again};
    scheduler s{{.ticks = "on-demand"}};
    add_procedures(s);
    ASSERT_TRUE(s.submit({consume, &waits, 1}));
    while (s.statistics().parked == 0) std::this_thread::yield();
    void* carrier = nullptr;
    submit(s, go_away_and_read, l, carrier);
    s.end_where_it_stands(carrier, &l);
    wait_for_count(l.cut, 1);
    coins.store(1);
    s.drain();
    EXPECT_EQ(l.cut, 1);
}

TEST_P(doomed, is_spared_while_it_is_undisturbed) {
    const support::watchdog dog{"doomed"};
    scheduler s{one_worker()};
    add_procedures(s);
    loiterer l;
    void* carrier = nullptr;
    submit(s, loiter_undisturbed, l, carrier);
    wait_for_progress(l.turns);  // before that, it may be ended
    for (int look = 0; look < 5; ++look) {
        s.end_where_it_stands(carrier, &l);
        wait_for_progress(l.turns);
    }
    EXPECT_EQ(l.cut, 0);
    l.go = true;
    expect_end(s, l);
    EXPECT_TRUE(l.passed);
}

INSTANTIATE_TEST_SUITE_P(sources, doomed, ::testing::Values("kernel", "on-demand", "periodic", "none"));

}  // namespace
}  // namespace tutti::preempt
