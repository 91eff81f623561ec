// Several retry_for in one block, on a clock that the test moves: each waits for its own limit.
#include "core/lifecycle/retry_limits.hpp"

#include <gtest/gtest.h>

#include "core/lifecycle/registry.hpp"
#include "tutti/tutti.hpp"

namespace tutti::core {
namespace {

using namespace std::chrono_literals;

class retry_limits : public ::testing::Test {
protected:
    base::manual_clock clock_;
    base::deadline start_ = base::now();
    std::vector<std::chrono::nanoseconds> returned_;  // the times at which the calls returned

    void note() { returned_.push_back(base::now() - start_); }
    /// Lets the next attempt find that `time` has passed. The time must equal the previous attempt's wait, because
    /// sleeps use another clock.
    void pass(tx& t, std::chrono::nanoseconds time) {
        t.on_abort([this, time] { clock_.advance(time); });
    }
    using times = std::vector<std::chrono::nanoseconds>;
};

TEST_F(retry_limits, are_waited_for_in_sequence) {
    atomically([&](tx& t) {
        pass(t, 10s);
        returned_.clear();
        retry_for(t, 10s);
        note();
        retry_for(t, 10s);
        note();
    });
    EXPECT_EQ(returned_, (times{20s, 20s}));
}

TEST_F(retry_limits, count_visits_of_one_place_separately) {
    const auto wait = [&](tx& t) { retry_for(t, 5s); };
    atomically([&](tx& t) {
        pass(t, 5s);
        for (int i = 0; i < 3; ++i) wait(t);
    });
    EXPECT_EQ(base::now() - start_, 15s);
}

// If an attempt does not reach a call of retry_for, no other call takes over the limit of that call.
TEST_F(retry_limits, survive_another_path) {
    atomically([&](tx& t) {
        pass(t, 4s);
        if (t.attempt() == 1) retry_for(t, 4s);
        retry_for(t, 4s);
    });
    EXPECT_EQ(base::now() - start_, 8s);
}

TEST_F(retry_limits, run_in_parallel_for_alternatives) {
    bool first_ran_out = false;
    atomically([&](tx& t) {
        pass(t, 10s);
        or_else(
            t,
            [&](tx& first) {
                retry_for(first, 20s);
                first_ran_out = true;
            },
            [&](tx& last) {
                retry_for(last, 10s);
                EXPECT_EQ(base::now() - start_, 10s);
            });
    });
    EXPECT_FALSE(first_ran_out);
}

// When a nested block runs again, its retry_for counts as the same call, and not as another one.
TEST_F(retry_limits, survive_a_nested_restart) {
    unsigned runs = 0;
    atomically([&](tx& t) {
        pass(t, 5s);
        atomically([&](tx& inner) {
            retry_for(inner, 5s);
            if (++runs < 4) restart(inner);
        });
        EXPECT_EQ(descriptor::of(t).retry_calls.size(), 1U);
    });
    EXPECT_EQ(base::now() - start_, 5s);
}

TEST_F(retry_limits, are_separate_for_blocks_in_handlers) {
    unsigned handled = 0;
    const auto wait = [&](tx& t) { retry_for(t, 3s); };
    atomically([&](tx& t) {
        t.on_abort([&] {
            ++handled;
            atomically([&](tx& other) {
                pass(other, 3s);
                wait(other);
            });
        });
        wait(t);
    });
    EXPECT_EQ(handled, 1U);
    EXPECT_EQ(base::now() - start_, 3s);
    EXPECT_TRUE(attach().retry_calls.empty());
}

TEST_F(retry_limits, begin_anew_with_each_execution) {
    for (int i = 1; i <= 3; ++i) {
        atomically([&](tx& t) {
            pass(t, 4s);
            retry_for(t, 4s);
        });
        EXPECT_EQ(base::now() - start_, i * 4s);
        EXPECT_TRUE(attach().retry_calls.empty());
    }
}

}  // namespace
}  // namespace tutti::core
