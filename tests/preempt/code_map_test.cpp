// The code that counts as application code.
#include "preempt/code_map.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

namespace tutti::preempt {
namespace {

template <class F>
std::uintptr_t address(F* f) {
    return reinterpret_cast<std::uintptr_t>(f);
}
void one_of_ours() {}

TEST(code_map_test, is_empty_at_first) {
    const code_map m;
    EXPECT_FALSE(m.contains(address(&one_of_ours)));
    EXPECT_FALSE(m.contains(0));
}

TEST(code_map_test, contains_exactly_its_ranges) {
    code_map m;
    static const char text[64] = {};
    m.add(text + 8, text + 16);
    EXPECT_FALSE(m.contains(reinterpret_cast<std::uintptr_t>(text + 7)));
    EXPECT_TRUE(m.contains(reinterpret_cast<std::uintptr_t>(text + 8)));
    EXPECT_TRUE(m.contains(reinterpret_cast<std::uintptr_t>(text + 15)));
    EXPECT_FALSE(m.contains(reinterpret_cast<std::uintptr_t>(text + 16)));
}

// Catches a search that takes every object, or treats data as code.
TEST(code_map_test, adds_the_code_of_one_object_only) {
    code_map m;
    ASSERT_TRUE(m.add_object_of(reinterpret_cast<const void*>(&one_of_ours)));
    EXPECT_TRUE(m.contains(address(&one_of_ours)));
    static int data = 0;
    EXPECT_FALSE(m.contains(reinterpret_cast<std::uintptr_t>(&data)));
    code_map other;
    ASSERT_TRUE(other.add_object_of(&data)) << "an object is found by its data, too";
    EXPECT_TRUE(other.contains(address(&one_of_ours)));
    EXPECT_FALSE(other.add_object_of(nullptr));
}

TEST(code_map_test, throws_when_full) {
    code_map m;
    static const char text[2 * code_map::max_ranges + 2] = {};
    for (std::size_t i = 0; i < code_map::max_ranges; ++i) m.add(text + 2 * i, text + 2 * i + 1);
    m.add(text, text + 1);  // already known
    EXPECT_THROW(m.add(text + 2 * code_map::max_ranges, text + 2 * code_map::max_ranges + 1), std::length_error);
}

}  // namespace
}  // namespace tutti::preempt
