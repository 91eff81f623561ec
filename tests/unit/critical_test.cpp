// Critical regions, with the hook of a preemption layer. The ticks are real signals.
#include "core/state/critical.hpp"

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>

#include <thread>

#include "core/lifecycle/registry.hpp"
#include "tutti/tutti.hpp"

namespace tutti::core {
namespace {

struct tick_counts {
    std::atomic<int> allowed{0}, postponed{0}, served{0}, served_inside{0};
};
tick_counts ticks;

void on_signal(int) {
    auto& d = descriptor::of(*detail::current_transaction);
    (tick(d) ? ticks.allowed : ticks.postponed).fetch_add(1);
}

void serve(descriptor& d) noexcept {
    ticks.served.fetch_add(1);
    if (d.critical_depth.load() != 0) ticks.served_inside.fetch_add(1);
}

constexpr preemption hooks{serve, nullptr};

class critical_test : public ::testing::Test {
protected:
    critical_test() {
        detach();
        make_preemptable(attach(), hooks);
        ticks.allowed = ticks.postponed = ticks.served = ticks.served_inside = 0;
        struct sigaction action{};
        action.sa_handler = on_signal;
        action.sa_flags = SA_RESTART;
        sigaction(SIGUSR1, &action, nullptr);
    }
    ~critical_test() override { detach(); }
};

TEST_F(critical_test, allows_a_switch_in_user_code) {
    atomically([](tx&) { raise(SIGUSR1); });
    EXPECT_EQ(ticks.allowed, 1);
    EXPECT_EQ(ticks.served, 0);
}

// at_commit runs between prepare and publish: orecs are owned, and a context switch there would block all other
// threads.
TEST_F(critical_test, serves_a_deferred_tick_after_the_commit) {
    var<int> x{0};
    int served_before_publish = -1;
    atomically([&](tx& t) {
        x.set(t, 1);
        t.at_commit([&] {
            raise(SIGUSR1);
            raise(SIGUSR1);
            served_before_publish = ticks.served;
        });
    });
    EXPECT_EQ(served_before_publish, 0);
    EXPECT_EQ(ticks.postponed, 2);
    EXPECT_EQ(ticks.served, 1) << "one pending tick, however many arrived";
    EXPECT_EQ(ticks.served_inside, 0);
}

TEST_F(critical_test, ends_a_region_that_a_jump_leaves) {
    var<int> x{0};
    int runs = 0;
    atomically(no_unwind, [&](tx& t) {
        x.set(t, 1);
        if (++runs == 1) restart(t);
    });
    EXPECT_EQ(descriptor::of(*detail::current_transaction).critical_depth, 0U);
    raise(SIGUSR1);
    EXPECT_EQ(ticks.allowed, 1);
}

TEST_F(critical_test, ends_a_region_that_an_exception_leaves) {
    EXPECT_THROW(atomically({.read_only = true}, [x = std::make_unique<var<int>>(0)](tx& t) { x->set(t, 1); }),
                 usage_error);
    EXPECT_EQ(descriptor::of(*detail::current_transaction).critical_depth, 0U);
}

// Many asynchronous signals at arbitrary points: none is served inside a region, and none is forgotten.
TEST_F(critical_test, survives_signals_at_any_instruction) {
    var<int> words[8];
    const pthread_t target = pthread_self();
    std::atomic<bool> stop{false};
    std::thread storm{[&] {
        do pthread_kill(target, SIGUSR1);  // at least one signal, even if this thread starts late
        while (!stop);
    }};
    // Loops until signals have hit regions and other code often enough. The bound is for systems with slow signals.
    for (int i = 0; i < 200'000 && (ticks.postponed < 100 || ticks.allowed < 100); ++i) {
        atomically([&](tx& t) {
            for (auto& w : words) w.set(t, w.get(t) + 1);
        });
    }
    stop = true;
    storm.join();
    atomically([&](tx& t) { words[0].set(t, 0); });  // the last tick has been served after this
    EXPECT_GT(ticks.allowed + ticks.postponed, 0);
    EXPECT_LE(ticks.served, ticks.postponed);
    EXPECT_EQ(ticks.served_inside, 0);
    EXPECT_FALSE(descriptor::of(*detail::current_transaction).pending_tick);
}

}  // namespace
}  // namespace tutti::core
