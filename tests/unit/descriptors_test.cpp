// Descriptors of ended threads are reused. Catches an engine that makes a new descriptor for each thread.
#include <gtest/gtest.h>

#include <thread>

#include "memory/status_record.hpp"
#include "tutti/tutti.hpp"

namespace tutti::core {
namespace {

TEST(descriptors, reuse_those_of_ended_threads) {
    var<int> x;
    const auto run_a_thread = [&] { std::thread{[&] { atomically([&](tx& t) { x.set(t, x.get(t) + 1); }); }}.join(); };
    run_a_thread();
    const auto before = memory::status_record_count();
    for (int i = 0; i < 100; ++i) run_a_thread();
    EXPECT_EQ(memory::status_record_count(), before);
    EXPECT_EQ(x.load(), 101);
}

}  // namespace
}  // namespace tutti::core
