#include "memory/orec.hpp"

#include <gtest/gtest.h>

namespace tutti::memory {
namespace {

TEST(orec_test, puts_other_forms_beyond_every_bound) {
    const word latest = make_snapshot_bound((word{1} << 50) - 1);
    EXPECT_GT(make_lock(0, 0), latest);
    EXPECT_GT(make_marked(make_version(2, 7), 1), latest);
    EXPECT_TRUE(is_version(latest));
}

TEST(orec_test, orders_versions_by_time_alone) {
    for (const word writer : {word{0}, word{17}, unknown_writer}) {
        EXPECT_LE(make_version(5, writer), make_snapshot_bound(5));
        EXPECT_GT(make_version(6, writer), make_snapshot_bound(5));
    }
}

TEST(orec_test, names_owner_and_entry_in_a_lock) {
    const word lock = make_lock(1048575, 0xfffffffe);
    EXPECT_TRUE(is_locked(lock));
    EXPECT_FALSE(is_marked(lock));
    EXPECT_EQ(owner_of(lock), 1048575U);
    EXPECT_EQ(entry_of(lock), 0xfffffffeU);
}

TEST(orec_test, keeps_the_time_under_marks) {
    const word marked = make_marked(make_version(9, 3), 0b101);
    EXPECT_TRUE(is_marked(marked));
    EXPECT_FALSE(is_locked(marked));
    EXPECT_EQ(slots_of_readers(marked), 0b101U);
    EXPECT_EQ(time_of(marked), 9U);
    EXPECT_EQ(version_of(marked), make_version(9, unknown_writer));
}

TEST(orec_test, is_shared_by_words_of_one_stripe) {
    alignas(32) static const char memory[64] = {};
    EXPECT_EQ(&orec_of(memory), &orec_of(memory + 31));
    EXPECT_NE(&orec_of(memory), &orec_of(memory + 32));
}

}  // namespace
}  // namespace tutti::memory
