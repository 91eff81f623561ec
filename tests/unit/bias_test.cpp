// The biased owner: the conditions under which it exists, the events that revoke it, and exclusion of other blocks.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "core/conflict/kill.hpp"
#include "core/lifecycle/access_check.hpp"
#include "core/lifecycle/execution.hpp"
#include "core/lifecycle/registry.hpp"
#include "core/ports/algorithm.hpp"
#include "core/rollback/signal.hpp"
#include "core/tokens/bias.hpp"
#include "support/effort.hpp"
#include "tutti/tutti.hpp"

namespace tutti::core {
namespace {

constexpr options ordinary{};
constinit detail::site_slot here{.site{nullptr}, .file = "bias_test.cpp", .function = "", .line = 0};

/// Runs `body` alone, as a block of the language does. Returns false, without running it, if that is not allowed.
template <class F>
bool runs_alone(F&& body) {
    descriptor& d = descriptor::of(detail::current_or_attach());
    detail::frame f;
    d.run.where = {&here, {}};
    d.run.how = &ordinary;
    d.frame_ = &f;
    if (!begin_as_biased_owner(d)) {
        d.frame_ = nullptr;
        return false;
    }
    body();
    EXPECT_TRUE(d.operations_->commit(d));
    d.serial = false;
    return true;
}
bool runs_alone() {
    return runs_alone([] {});
}

void elsewhere(void (*what)()) { std::thread{what}.join(); }
void run_one() {
    var<int> x{0};
    atomically([&](tx& t) { x.set(t, 1); });
}

class bias_test : public ::testing::Test {
protected:
    void SetUp() override {
        if (detail::current_or_attach(); descriptor::of(*detail::current_transaction).algorithm->one_at_a_time)
            GTEST_SKIP() << "this algorithm runs every transaction alone";
        revoke_any_bias();
    }
    void TearDown() override { revoke_any_bias(); }

    /// Revokes the bias of any context. A transaction that begins in this context revokes another context's bias, and a
    /// transaction elsewhere revokes this context's bias.
    static void revoke_any_bias() {
        run_one();
        elsewhere(run_one);
    }
    /// Makes this context the biased owner. The second call succeeds, because no other context has begun a transaction
    /// since the first call.
    static void become() {
        runs_alone();
        ASSERT_TRUE(runs_alone());
    }
};

TEST_F(bias_test, begins_after_two_looks_without_other_begins) {
    elsewhere(run_one);
    EXPECT_FALSE(runs_alone());
    elsewhere(run_one);
    EXPECT_FALSE(runs_alone());
    EXPECT_TRUE(runs_alone());
    EXPECT_TRUE(runs_alone());
}

TEST_F(bias_test, ends_when_another_context_begins) {
    become();
    elsewhere(run_one);
    EXPECT_EQ(biased_owner.load(std::memory_order_relaxed), 0U);
    EXPECT_FALSE(runs_alone());
    EXPECT_EQ(descriptor::of(*detail::current_transaction).bias.blocks_until_next_try, blocks_between_bias_tries);
    EXPECT_TRUE(runs_alone());
}

TEST_F(bias_test, survives_other_transactions_of_its_context) {
    become();
    run_one();
    atomically({.mode = mode::irrevocable}, [](tx&) {});
    EXPECT_TRUE(runs_alone());
}

TEST_F(bias_test, cannot_be_killed_or_rolled_back) {
    become();
    EXPECT_TRUE(runs_alone([] {
        descriptor& d = descriptor::of(*detail::current_transaction);
        kill(d, d.state.load(std::memory_order_relaxed));
        EXPECT_FALSE(d.kill_requested());
        EXPECT_EQ(check_access(d), access_check::proceed);
    }));
}

TEST_F(bias_test, waits_for_running_transactions) {
    become();
    std::atomic<bool> inside{false};
    std::atomic<bool> done{false};
    std::thread other{[&] {
        atomically([&](tx&) {
            inside = true;
            inside.notify_all();
            done.wait(false);
        });
    }};
    inside.wait(false);
    for (int i = 0; i != 3; ++i) EXPECT_FALSE(runs_alone());
    done = true;
    done.notify_all();
    other.join();
    become();
}

TEST_F(bias_test, waits_for_transactions_that_sleep_in_retry) {
    var<int> flag{0};
    std::atomic<bool> tried{false};
    std::thread sleeper{[&] {
        atomically([&](tx& t) {
            if (flag.get(t) == 1) return;
            tried = true;
            retry(t);
        });
    }};
    // As soon as the thread sleeps, its state is idle, and stays idle.
    for (int looks = 0; looks != 100;) {
        const bool began = tried;
        const bool alone = runs_alone();
        EXPECT_FALSE(began && alone);
        if (began) ++looks;
    }
    flag.store(1);
    sleeper.join();
}

TEST_F(bias_test, gets_the_slot_before_a_waiting_context) {
    become();
    std::atomic<bool> over{false};
    std::thread other;
    ASSERT_TRUE(runs_alone([&] {
        other = std::thread{[&] { atomically({.mode = mode::irrevocable}, [&](tx&) { over = true; }); }};
        while ((biased_owner.load(std::memory_order_relaxed) & 1) == 0)
            std::this_thread::yield();  // until the other thread has revoked the bias and waits
        descriptor::of(*detail::current_transaction).become_irrevocable("wants it too");
        EXPECT_FALSE(over);
    }));
    other.join();
    EXPECT_TRUE(over);
}

// If a biased owner runs beside other blocks, updates are lost. ThreadSanitizer reports such an overlap sooner.
TEST_F(bias_test, runs_beside_no_other_transaction) {
    static long count = 0;
    count = 0;
    const int updates = static_cast<int>(support::rounds(50000));
    constexpr int threads = 3;
    std::thread crew[threads];
    for (int me = 0; me != threads; ++me) {
        crew[me] = std::thread{[me, updates] {
            for (int i = 0; i != updates; ++i) {
                // Each thread runs in bursts, so that sometimes all threads except one are quiet.
                if (i % (64 << me) == 0) std::this_thread::yield();
                if (!runs_alone([] { ++count; })) {
                    atomically([](tx& t) { store(t, &count, load(t, &count) + 1); });
                }
            }
        }};
    }
    for (std::thread& t : crew) t.join();
    EXPECT_EQ(count, threads * long{updates});
}

}  // namespace
}  // namespace tutti::core
