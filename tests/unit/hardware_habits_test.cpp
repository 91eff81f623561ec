// The blocks that try hardware, and the frequency of their tries. Catches many useless attempts, a block that never
// returns to hardware, and a block that is punished for another one's failures.
#include "core/state/hardware_habits.hpp"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace tutti::core {
namespace {

constexpr hardware_habits::key bad = 0x1000, good = 0x2008;

/// Runs a block that always ends in the same way. Returns the number of executions that tried hardware.
int tries_in(hardware_habits& h, hardware_habits::key block, int executions, bool fails) {
    int tries = 0;
    for (int i = 0; i < executions; ++i) {
        if (!h.tries(block)) continue;
        ++tries;
        if (fails) h.note_failure(block, hardware_abort::interrupt);
        else h.note_commit(block);
    }
    return tries;
}

TEST(hardware_trial, one_interrupt_may_come_by_chance) {
    hardware_trial t;
    EXPECT_FALSE(t.is_over_after(hardware_abort::interrupt));
    EXPECT_FALSE(t.is_over_after(hardware_abort::conflict));
    EXPECT_TRUE(t.is_over_after(hardware_abort::interrupt));
}

TEST(hardware_trial, what_others_do_leaves_another_try) {
    hardware_trial t;
    for (int i = 0; i < 100; ++i) {
        EXPECT_FALSE(t.is_over_after(hardware_abort::conflict));
        EXPECT_FALSE(t.is_over_after(hardware_abort::busy));
    }
    EXPECT_TRUE(t.is_over_after(hardware_abort::capacity));
}

TEST(hardware_habits, a_block_that_always_fails_tries_rarely) {
    hardware_habits h;
    // 7 while the distance doubles from 1 to 64, in the first 127 executions; then one in 64.
    EXPECT_EQ(tries_in(h, bad, 127, true), 7);
    EXPECT_EQ(tries_in(h, bad, 6400, true), 100);
}

TEST(hardware_habits, a_block_that_fails_no_more_comes_back) {
    hardware_habits h;
    tries_in(h, bad, 100000, true);
    // The distance halves from 64 to 1.
    tries_in(h, bad, 64 + 32 + 16 + 8 + 4 + 2, false);
    EXPECT_EQ(h.find(bad), nullptr);
    EXPECT_EQ(tries_in(h, bad, 100, false), 100);
}

TEST(hardware_habits, knows_the_latest_reason_and_takes_turns) {
    hardware_habits h;
    h.note_failure(bad, hardware_abort::interrupt);
    hardware_habit& known = h.note_failure(bad, hardware_abort::capacity);
    EXPECT_EQ(known.why(), hardware_abort::capacity);
    EXPECT_EQ(h.find(bad), &known);
    EXPECT_FALSE(known.takes_turn());
    EXPECT_TRUE(known.takes_turn());
    EXPECT_FALSE(known.takes_turn());
}

// Many more blocks than entries, so each set is full, and blocks evict each other's entries.
TEST(hardware_habits, a_block_beside_others_that_fail_is_not_affected) {
    hardware_habits h;
    for (hardware_habits::key other = 1; other <= 10000; ++other) {
        h.note_failure(bad + other * 16, hardware_abort::software);
        EXPECT_TRUE(h.tries(good));
        h.note_commit(good);
    }
    EXPECT_EQ(h.find(good), nullptr);
}

TEST(hardware_habits, a_newcomer_takes_the_place_of_the_block_that_tries_most_often) {
    hardware_habits h;
    tries_in(h, bad, 100000, true);
    for (hardware_habits::key other = 1; other <= 10000; ++other)
        h.note_failure(bad + other * 16, hardware_abort::debug);
    ASSERT_NE(h.find(bad), nullptr);
    EXPECT_EQ(tries_in(h, bad, 640, true), 10);
}

TEST(hardware_habits, every_entry_comes_free) {
    hardware_habits h;
    std::vector<hardware_habits::key> kept;
    for (hardware_habits::key other = 1; other <= 1000; ++other)
        h.note_failure(bad + other * 16, hardware_abort::nested);
    for (hardware_habits::key other = 1; other <= 1000; ++other) {
        if (h.find(bad + other * 16) != nullptr) kept.push_back(bad + other * 16);
    }
    EXPECT_EQ(kept.size(), 64U);
    for (const hardware_habits::key k : kept) h.note_commit(k);
    for (const hardware_habits::key k : kept) EXPECT_EQ(h.find(k), nullptr);
}

}  // namespace
}  // namespace tutti::core
