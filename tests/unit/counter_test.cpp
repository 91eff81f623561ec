// Catches a counter whose cost of an addition, or whose memory, grows with the number of contexts.
#include "tutti/counter.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

#include "core/lifecycle/registry.hpp"

namespace tutti::core {
namespace {

class counter_test : public ::testing::Test {
protected:
    static constexpr std::uint32_t contexts = 3000;

    counter_test() {
        while (taken_.empty() || taken_.back()->id < contexts) taken_.push_back(&acquire_descriptor());
    }
    ~counter_test() override {
        for (descriptor* d : taken_) release_descriptor(*d);
    }
    /// Runs `body` in a transaction of the most recent context.
    template <class Body>
    static void in_late_context(Body&& body) {
        std::thread{[&] { atomically([&](tx& t) { body(descriptor::of(t)); }); }}.join();
    }
    std::vector<descriptor*> taken_;
};

TEST_F(counter_test, adds_in_a_few_steps) {
    counter c;
    for (int times = 0; times < 2; ++times) {
        in_late_context([&](descriptor& d) {
            ASSERT_GT(d.id, contexts);
            c.add(d, 5);
            if (times == 1) {
                EXPECT_LE(d.reads(), 2u);
            }
        });
    }
    EXPECT_EQ(c.load(), 10);
}

TEST_F(counter_test, has_cells_only_for_contexts_that_add) {
    counter c;
    atomically([&](tx& t) {
        EXPECT_EQ(c.get(t), 0);
        EXPECT_LE(descriptor::of(t).reads(), 20u);
    });
    in_late_context([&](descriptor& d) { c.add(d, 1); });
    atomically([&](tx& t) {
        EXPECT_EQ(c.get(t), 1);
        EXPECT_LE(descriptor::of(t).reads(), contexts + 100);
    });
}

}  // namespace
}  // namespace tutti::core
