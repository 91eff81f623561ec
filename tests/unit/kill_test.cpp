#include "core/conflict/kill.hpp"

#include <gtest/gtest.h>

#include <latch>
#include <thread>

#include "core/lifecycle/quiescence_reply.hpp"
#include "core/lifecycle/registry.hpp"
#include "tutti/tutti.hpp"

namespace tutti::core {
namespace {

/// Runs `body` on another thread up to its call of `pause()`, calls `meanwhile(descriptor)`, and then lets it continue.
template <class Body, class Meanwhile>
void interrupted(Body body, Meanwhile meanwhile) {
    std::latch there{1}, proceed{1};
    descriptor* victim = nullptr;
    std::thread other{[&] {
        bool paused = false;
        body([&] {
            if (paused) return;
            paused = true;
            victim = &descriptor::of(*detail::current_transaction);
            there.count_down();
            proceed.wait();
        });
    }};
    there.wait();
    meanwhile(*victim);
    proceed.count_down();
    other.join();
}

word state_of(descriptor& d) { return d.state.load(std::memory_order_acquire); }

TEST(kill, reaches_a_reader_in_its_inlined_path) {
    var<int> x{1};
    int attempts = 0;
    bool read_after_the_kill = false;
    interrupted(
        [&](auto pause) {
            atomically([&](tx& t) {
                ++attempts;
                static_cast<void>(x.get(t));
                pause();
                static_cast<void>(x.get(t));
                if (attempts == 1) read_after_the_kill = true;
            });
        },
        [](descriptor& victim) { EXPECT_TRUE(kill(victim, state_of(victim))); });
    // norec and the exclusive algorithms notice at the same barrier: all of them go out of line.
    EXPECT_EQ(attempts, 2);
    EXPECT_FALSE(read_after_the_kill);
}

TEST(kill, reaches_a_writer_at_commit) {
    var<int> x{1};
    int attempts = 0;
    abort_cause cause = abort_cause::none;
    interrupted(
        [&](auto pause) {
            atomically([&](tx& t) {
                ++attempts;
                cause = t.last_abort();
                x.set(t, attempts);
                pause();
            });
        },
        [](descriptor& victim) { EXPECT_TRUE(kill(victim, state_of(victim))); });
    EXPECT_EQ(x.load(), 2);
    EXPECT_EQ(cause, abort_cause::killed);
}

// If a killed transaction answered a privatizing commit, the answer would reopen the inlined path and skip the kill
// request.
TEST(kill, prevents_a_reply_to_quiescence) {
    auto& self = descriptor::of(detail::current_or_attach());
    int attempts = 0;
    bool answered = false;
    atomically([&](tx&) {
        if (++attempts != 1) return;
        EXPECT_TRUE(kill(self, state_of(self)));
        reply_to_quiescence(self);
        answered = true;
    });
    EXPECT_EQ(attempts, 2);
    EXPECT_FALSE(answered);
}

TEST(kill, spares_the_next_transaction_of_the_context) {
    var<int> x{1};
    int attempts = 0;
    atomically([&](tx& t) { x.set(t, 2); });
    auto& self = descriptor::of(*detail::current_transaction);
    const word earlier = memory::make_state(memory::sequence_of(state_of(self)), memory::status::active);
    atomically([&](tx& t) {
        ++attempts;
        EXPECT_FALSE(kill(self, earlier));
        x.set(t, 3);
    });
    EXPECT_EQ(attempts, 1);
}

TEST(kill, spares_the_irrevocable_transaction) {
    var<int> x{1};
    int attempts = 0;
    interrupted(
        [&](auto pause) {
            atomically({.mode = mode::irrevocable}, [&](tx& t) {
                ++attempts;
                x.set(t, 5);
                pause();
            });
        },
        [](descriptor& victim) { EXPECT_FALSE(kill(victim, state_of(victim))); });
    EXPECT_EQ(attempts, 1);
    EXPECT_EQ(x.load(), 5);
}

TEST(kill, fails_after_the_end) {
    atomically([](tx&) {});
    auto& self = descriptor::of(*detail::current_transaction);
    EXPECT_FALSE(kill(self, state_of(self)));
}

}  // namespace
}  // namespace tutti::core
