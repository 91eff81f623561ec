// Procedures that exceed their time and are terminated in place. Catches a procedure that keeps its worker forever
// because ticks find it in library code, or because it is not checked again. Catches a procedure that is terminated
// where it must not be, and steps that end the process.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <ctime>

#include "preempt/procedures/endless_calls.hpp"
#include "preempt/procedures/orec_owners.hpp"
#include "preempt/progress.hpp"
#include "preempt/scheduler.hpp"
#include "support/watchdog.hpp"

namespace tutti::preempt {
namespace {

using namespace procedures;

void submit(scheduler& s, void (*run)(void*) noexcept, endless_call& l, void*& slot) {
    ASSERT_TRUE(s.submit({.run = run,
                          .argument = &l,
                          .priority = 1,
                          .context_slot = &slot,
                          .on_termination = on_endless_call_terminated}));
    wait_until(l.has_started);
}

/// Expects that the procedure is terminated once, and that the worker continues with other work.
void expect_end(scheduler& s, endless_call& l) {
    wait_for_count(l.terminations, 1);
    std::atomic<int> clock{0};
    marker after{&clock};
    ASSERT_TRUE(s.submit({mark, &after, 1}));
    s.drain();
    EXPECT_EQ(after.at, 1);
    EXPECT_EQ(l.terminations, 1);
}

class context_termination_test : public of_each_source {
protected:
    static options one_worker() {
        options how;
        how.tick_source = GetParam();
        return how;
    }

    static void terminate(void (*run)(void*) noexcept, endless_call& l) {
        const support::watchdog dog{"context termination"};
        scheduler s{one_worker()};
        add_procedures(s);
        void* slot = nullptr;
        submit(s, run, l, slot);
        s.terminate_in_place(slot, &l);
        expect_end(s, l);
    }
};

TEST_P(context_termination_test, terminates_in_application_code) {
    endless_call l;
    terminate(run_endlessly, l);
}

// Catches an end or an interruption that arrives after its work has ended, and hits the next work on the same context.
TEST_P(context_termination_test, does_not_hit_the_next_work_on_a_context) {
    const support::watchdog dog{"context termination"};
    scheduler s{one_worker()};
    add_procedures(s);
    endless_call first, second;
    void *of_first = nullptr, *of_second = nullptr;
    submit(s, run_endlessly, first, of_first);
    s.terminate_in_place(of_first, &first);
    while (s.statistics().finished == 0) std::this_thread::yield();
    submit(s, run_endlessly, second, of_second);
    ASSERT_EQ(of_first, of_second) << "it runs on the same context";
    EXPECT_EQ(s.run_number_of(of_first, &first), 0u);
    EXPECT_NE(s.run_number_of(of_second, &second), 0u);
    s.terminate_in_place(of_first, &first);
    std::this_thread::sleep_for(std::chrono::milliseconds{50});
    EXPECT_EQ(second.terminations, 0);
    s.terminate_in_place(of_second, &second);
    s.drain();
    EXPECT_EQ(second.terminations, 1);
}

// Catches a context that is still doomed when it is used again.
TEST_P(context_termination_test, does_not_hit_the_next_call) {
    const support::watchdog dog{"context termination"};
    scheduler s{one_worker()};
    add_procedures(s);
    endless_call first, second;
    for (endless_call* const l : {&first, &second}) {
        void* slot = nullptr;
        const std::uint64_t ended = s.statistics().finished;
        submit(s, run_endlessly, *l, slot);
        std::this_thread::sleep_for(std::chrono::milliseconds{50});
        EXPECT_EQ(l->terminations, 0);
        s.terminate_in_place(slot, l);
        while (s.statistics().finished == ended) std::this_thread::yield();
        EXPECT_EQ(l->terminations, 1);
    }
}

// Catches a termination in the middle of an irrevocable transaction, whose effects cannot be rolled back.
TEST_P(context_termination_test, waits_while_a_commit_is_certain) {
    const support::watchdog dog{"context termination"};
    static std::atomic<int> terminations;
    terminations = 0;
    var<int> x{0};
    orec_owner o{.of = &x, .adds = 1, .mode = mode::irrevocable, .ends_at_once = false};
    scheduler s{one_worker()};
    add_procedures(s);
    void* slot = nullptr;
    ASSERT_TRUE(s.submit(
        {.run = own, .argument = &o, .priority = 1, .context_slot = &slot, .on_termination = [](void*) noexcept {
             ++terminations;
         }}));
    wait_for_count(o.attempts, 1);
    s.terminate_in_place(slot, &o);
    std::this_thread::sleep_for(std::chrono::milliseconds{50});
    EXPECT_EQ(terminations, 0);
    o.go = true;
    s.drain();
    EXPECT_EQ(x.load(), 1);
}

TEST_P(context_termination_test, terminates_in_nested_transactions) {
    var<int> shared{0};
    endless_call l{.of = &shared};
    terminate(run_endlessly_owning, l);
    EXPECT_EQ(shared.load(), 0);
    atomically([&](tx& t) { shared.set(t, 1); });  // its orec is free
}

TEST_P(context_termination_test, terminates_code_that_swallows_exceptions) {
    var<int> shared{0};
    endless_call l{.of = &shared};
    terminate(swallow_every_exception, l);
    EXPECT_EQ(shared.load(), 0);
}

// Does not return until the procedure is single-stepped. So no tick finds the procedure in its own code before.
void stay_until_it_steps() {
    const context& mine = *scheduler::current();
    while (!mine.single_steps.is_active()) std::atomic_signal_fence(std::memory_order_seq_cst);
}

TEST_P(context_termination_test, terminates_although_ticks_find_library_code) {
    endless_call l{.call_away = stay_until_it_steps};
    terminate(call_away_repeatedly, l);
}

// The termination waits until the procedure has left the C library, which may hold locks, and has returned from system
// calls.
TEST_P(context_termination_test, terminates_between_two_library_calls) {
    endless_call allocates{.call_away = [] { std::free(std::malloc(100)); }};
    terminate(call_away_repeatedly, allocates);
    std::free(std::malloc(100));
    endless_call sleeps{.call_away = [] { ::usleep(100); }};
    terminate(call_away_repeatedly, sleeps);
}

// A new thread begins with the trap flag that its creator has set, and the C library blocks every signal meanwhile.
TEST_P(context_termination_test, ends_no_thread_that_the_call_started) {
    endless_call l{.call_away = [] { std::thread{[] {}}.join(); }};
    terminate(call_away_repeatedly, l);
}

// The rest of the procedure is stepped through, up to the switch to its worker's loop.
void end_in_steps(void* of_endless_call) noexcept {
    const context& mine = *scheduler::current();
    on_endless_call_terminated(of_endless_call);
    while (!mine.single_steps.is_active()) ::raise(tick_signal);
}

// Catches a single step after the switch to another context. If contexts have thread-local variables of their own, the
// trap handler does not know its worker for some instructions after the switch. The trap would then end the process.
TEST(context_termination_in_steps, switches_in_the_middle_of_a_step) {
    if (!tls_block::is_available()) GTEST_SKIP() << "the base of FS cannot be set here";
    const support::watchdog dog{"context termination"};
    scheduler s{{.migrate = true}};
    add_procedures(s);
    endless_call l;
    void* slot = nullptr;
    ASSERT_TRUE(s.submit(
        {.run = run_endlessly, .argument = &l, .priority = 1, .context_slot = &slot, .on_termination = end_in_steps}));
    wait_until(l.has_started);
    s.terminate_in_place(slot, &l);
    expect_end(s, l);
}

// Consumes all pending ticks and the tick of the timer. Lets the next barrier check for other ready work.
void miss_every_tick() {
    const context& mine = *scheduler::current();
    stay_until_it_steps();
    while (mine.single_steps.is_active()) std::atomic_signal_fence(std::memory_order_seq_cst);
    sigset_t ticks;
    sigemptyset(&ticks);
    sigaddset(&ticks, tick_signal);
    ::pthread_sigmask(SIG_BLOCK, &ticks, nullptr);
    // Waits for the timer's tick, in case the timer was set. Only handlers set the timer. The limit is longer than the
    // longest pause.
    constexpr timespec long_enough{0, 20'000'000};
    while (::sigtimedwait(&ticks, nullptr, &long_enough) == tick_signal) {}
    mine.descriptor->pending_tick.store(true);
}

void unblock_ticks() {
    sigset_t ticks;
    sigemptyset(&ticks);
    sigaddset(&ticks, tick_signal);
    ::pthread_sigmask(SIG_UNBLOCK, &ticks, nullptr);
}

// Only the on-demand tick source sets its timer for other contexts.
TEST(context_termination_on_demand, is_rechecked_after_a_barrier_moved_the_timer) {
    const support::watchdog dog{"context termination"};
    var<int> coins{0}, shared{0};
    consumer waits{&coins, std::chrono::hours{1}};
    endless_call l{.call_away = miss_every_tick, .of = &shared, .call_back = unblock_ticks};
    scheduler s{{.tick_source = "on-demand"}};
    add_procedures(s);
    ASSERT_TRUE(s.submit({consume, &waits, 1}));
    while (s.statistics().parked == 0) std::this_thread::yield();
    void* slot = nullptr;
    submit(s, call_away_and_read, l, slot);
    s.terminate_in_place(slot, &l);
    wait_for_count(l.terminations, 1);
    coins.store(1);
    s.drain();
    EXPECT_EQ(l.terminations, 1);
}

TEST_P(context_termination_test, waits_under_a_no_preemption_guard) {
    const support::watchdog dog{"context termination"};
    scheduler s{one_worker()};
    add_procedures(s);
    endless_call l;
    void* slot = nullptr;
    submit(s, run_endlessly_unpreempted, l, slot);
    wait_for_progress(l.turns);  // before its first turn, the procedure may be terminated
    for (int round = 0; round < 5; ++round) {
        s.terminate_in_place(slot, &l);
        wait_for_progress(l.turns);
    }
    EXPECT_EQ(l.terminations, 0);
    l.go = true;
    expect_end(s, l);
    EXPECT_TRUE(l.passed);
}

INSTANTIATE_TEST_SUITE_P(sources, context_termination_test,
                         ::testing::Values("kernel", "on-demand", "periodic", "none"));

}  // namespace
}  // namespace tutti::preempt
