// The blocks that try hardware, and the frequency of their tries. Catches many useless attempts, a block that never
// returns to hardware, and a block that is punished for another one's failures.
#include "core/state/hardware_history.hpp"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace tutti::core {
namespace {

constexpr hardware_history::key bad = 0x1000, good = 0x2008;

/// Runs a block that always ends in the same way. Returns the number of executions that tried hardware.
int tries_in(hardware_history& h, hardware_history::key block, int executions, bool fails) {
    int tries = 0;
    for (int i = 0; i < executions; ++i) {
        if (!h.tries_hardware(block)) continue;
        ++tries;
        if (fails) h.note_failure(block, hardware_abort::interrupt);
        else h.note_commit(block);
    }
    return tries;
}

TEST(hardware_trial_test, tolerates_one_interrupt) {
    hardware_trial t;
    EXPECT_FALSE(t.ends_after(hardware_abort::interrupt));
    EXPECT_FALSE(t.ends_after(hardware_abort::conflict));
    EXPECT_TRUE(t.ends_after(hardware_abort::interrupt));
}

TEST(hardware_trial_test, continues_after_aborts_caused_by_others) {
    hardware_trial t;
    for (int i = 0; i < 100; ++i) {
        EXPECT_FALSE(t.ends_after(hardware_abort::conflict));
        EXPECT_FALSE(t.ends_after(hardware_abort::busy));
    }
    EXPECT_TRUE(t.ends_after(hardware_abort::capacity));
}

TEST(hardware_history_test, makes_a_failing_block_try_rarely) {
    hardware_history h;
    // The block tries 7 times in the first 127 executions, while the distance between tries doubles from 1 to 64. After
    // that, the block tries once in 64 executions.
    EXPECT_EQ(tries_in(h, bad, 127, true), 7);
    EXPECT_EQ(tries_in(h, bad, 6400, true), 100);
}

TEST(hardware_history_test, restores_a_block_that_no_longer_fails) {
    hardware_history h;
    tries_in(h, bad, 100000, true);
    // The distance between tries halves from 64 to 1.
    tries_in(h, bad, 64 + 32 + 16 + 8 + 4 + 2, false);
    EXPECT_EQ(h.find(bad), nullptr);
    EXPECT_EQ(tries_in(h, bad, 100, false), 100);
}

TEST(hardware_history_test, keeps_the_latest_reason_and_alternates) {
    hardware_history h;
    h.note_failure(bad, hardware_abort::interrupt);
    hardware_record& known = h.note_failure(bad, hardware_abort::capacity);
    EXPECT_EQ(known.why(), hardware_abort::capacity);
    EXPECT_EQ(h.find(bad), &known);
    EXPECT_FALSE(known.alternate());
    EXPECT_TRUE(known.alternate());
    EXPECT_FALSE(known.alternate());
}

// Many more blocks than entries, so each set is full, and blocks evict each other's entries.
TEST(hardware_history_test, does_not_affect_other_blocks) {
    hardware_history h;
    for (hardware_history::key other = 1; other <= 10000; ++other) {
        h.note_failure(bad + other * 16, hardware_abort::software);
        EXPECT_TRUE(h.tries_hardware(good));
        h.note_commit(good);
    }
    EXPECT_EQ(h.find(good), nullptr);
}

TEST(hardware_history_test, replaces_the_block_that_tries_most_often) {
    hardware_history h;
    tries_in(h, bad, 100000, true);
    for (hardware_history::key other = 1; other <= 10000; ++other)
        h.note_failure(bad + other * 16, hardware_abort::debug);
    ASSERT_NE(h.find(bad), nullptr);
    EXPECT_EQ(tries_in(h, bad, 640, true), 10);
}

TEST(hardware_history_test, frees_every_entry) {
    hardware_history h;
    std::vector<hardware_history::key> kept;
    for (hardware_history::key other = 1; other <= 1000; ++other)
        h.note_failure(bad + other * 16, hardware_abort::nested);
    for (hardware_history::key other = 1; other <= 1000; ++other) {
        if (h.find(bad + other * 16) != nullptr) kept.push_back(bad + other * 16);
    }
    EXPECT_EQ(kept.size(), 64U);
    for (const hardware_history::key k : kept) h.note_commit(k);
    for (const hardware_history::key k : kept) EXPECT_EQ(h.find(k), nullptr);
}

}  // namespace
}  // namespace tutti::core
