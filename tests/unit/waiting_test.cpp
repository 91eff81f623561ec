#include "core/waiting.hpp"

#include <gtest/gtest.h>

#include <latch>
#include <thread>

#include "core/registry.hpp"
#include "tutti/tutti.hpp"

namespace tutti::core {
namespace {

// Many sleepers on one transaction, many times over: one that is not woken hangs the test.
TEST(waiting, everybody_is_woken_by_the_end_of_a_transaction) {
    constexpr int rounds = 200, sleepers = 4;
    for (int round = 0; round < rounds; ++round) {
        std::latch begun{1}, waiting{sleepers};
        descriptor* owner = nullptr;
        word state = 0;
        std::thread runner{[&] {
            atomically([&](tx& t) {
                owner = &descriptor::of(t);
                state = owner->state.load(std::memory_order_relaxed);
                begun.count_down();
                waiting.wait();
            });
        }};
        std::vector<std::thread> crowd;
        for (int i = 0; i < sleepers; ++i) {
            crowd.emplace_back([&] {
                begun.wait();
                descriptor& self = attach();
                waiting.count_down();
                wait_for(self, *owner, state);
                EXPECT_TRUE(is_over(*owner, state));
            });
        }
        for (auto& t : crowd) t.join();
        runner.join();
    }
}

}  // namespace
}  // namespace tutti::core
