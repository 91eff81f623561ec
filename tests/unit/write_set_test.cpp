#include "memory/write_set.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace tutti::memory {
namespace {

class write_index_test : public ::testing::Test {
protected:
    void add(word* address) {
        entries_.push({address, nullptr, 0, no_version, no_entry, 0xff, false});
        index_.add(entries_);
    }
    log<write_entry> entries_;
    write_index index_;
    std::vector<word> words_ = std::vector<word>(5000);
};

TEST_F(write_index_test, finds_what_was_added_and_nothing_else_at_every_size) {
    for (std::size_t i = 0; i < words_.size(); ++i) {
        ASSERT_EQ(index_.find(entries_, &words_[i]), no_entry) << i;
        add(&words_[i]);
        ASSERT_EQ(index_.find(entries_, &words_[i]), i);
        ASSERT_EQ(index_.find(entries_, &words_[i / 2]), i / 2);
    }
}

TEST_F(write_index_test, forgets_what_a_nested_block_had_added) {
    for (std::size_t i = 0; i < 100; ++i) add(&words_[i]);
    entries_.shrink(40);
    index_.rebuild(entries_);
    for (std::size_t i = 0; i < 100; ++i) EXPECT_EQ(index_.find(entries_, &words_[i]), i < 40 ? i : no_entry);
    add(&words_[90]);
    EXPECT_EQ(index_.find(entries_, &words_[90]), 40U);
}

TEST_F(write_index_test, starts_over_after_clear) {
    for (std::size_t i = 0; i < 100; ++i) add(&words_[i]);
    entries_.clear();
    index_.clear();
    EXPECT_EQ(index_.find(entries_, &words_[3]), no_entry);
    add(&words_[7]);
    EXPECT_EQ(index_.find(entries_, &words_[7]), 0U);
}

}  // namespace
}  // namespace tutti::memory
