#include "memory/orec.hpp"

#include <gtest/gtest.h>

namespace tutti::memory {
namespace {

TEST(record, every_form_that_is_not_a_version_exceeds_every_limit) {
    const word latest = make_limit((word{1} << 50) - 1);
    EXPECT_GT(make_lock(0, 0), latest);
    EXPECT_GT(make_marked(make_version(2, 7), 1), latest);
    EXPECT_TRUE(is_version(latest));
}

TEST(record, a_version_belongs_to_the_limit_of_its_time_whoever_wrote_it) {
    for (const word writer : {word{0}, word{17}, anonymous}) {
        EXPECT_LE(make_version(5, writer), make_limit(5));
        EXPECT_GT(make_version(6, writer), make_limit(5));
    }
}

TEST(record, a_lock_names_owner_and_entry) {
    const word lock = make_lock(1048575, 0xfffffffe);
    EXPECT_TRUE(is_locked(lock));
    EXPECT_FALSE(is_marked(lock));
    EXPECT_EQ(owner_of(lock), 1048575U);
    EXPECT_EQ(entry_of(lock), 0xfffffffeU);
}

TEST(record, marks_keep_the_time_and_lose_the_writer) {
    const word marked = make_marked(make_version(9, 3), 0b101);
    EXPECT_TRUE(is_marked(marked));
    EXPECT_FALSE(is_locked(marked));
    EXPECT_EQ(slots_of_readers(marked), 0b101U);
    EXPECT_EQ(time_of(marked), 9U);
    EXPECT_EQ(version_of(marked), make_version(9, anonymous));
}

TEST(record, plain_words_of_one_stripe_share_a_record_and_neighbours_do_not) {
    alignas(32) static const char memory[64] = {};
    EXPECT_EQ(&orec_of(memory), &orec_of(memory + 31));
    EXPECT_NE(&orec_of(memory), &orec_of(memory + 32));
}

}  // namespace
}  // namespace tutti::memory
