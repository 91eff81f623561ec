#include "memory/write_set.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "support/effort.hpp"
#include "support/random.hpp"

namespace tutti::memory {
namespace {

class write_index_test : public ::testing::Test {
protected:
    void add(word* address) {
        entries_.push({address, nullptr, 0, no_version, no_entry, 0xff, false});
        index_.add(entries_);
    }
    void drop(std::size_t kept) {
        index_.drop(entries_, kept);
        entries_.shrink(kept);
    }
    log<write_entry> entries_;
    write_index index_;
    std::vector<word> words_ = std::vector<word>(5000);
};

TEST_F(write_index_test, finds_exactly_the_added_entries) {
    for (std::size_t i = 0; i < words_.size(); ++i) {
        ASSERT_EQ(index_.find(entries_, &words_[i]), no_entry) << i;
        add(&words_[i]);
        ASSERT_EQ(index_.find(entries_, &words_[i]), i);
        ASSERT_EQ(index_.find(entries_, &words_[i / 2]), i / 2);
    }
}

TEST_F(write_index_test, drops_entries_of_a_nested_block) {
    for (std::size_t i = 0; i < 100; ++i) add(&words_[i]);
    drop(40);
    for (std::size_t i = 0; i < 100; ++i) EXPECT_EQ(index_.find(entries_, &words_[i]), i < 40 ? i : no_entry);
    add(&words_[90]);
    EXPECT_EQ(index_.find(entries_, &words_[90]), 40U);
}

// The addresses are scattered, so probes for one word pass many other words. The table grows within blocks that are
// dropped. Catches a slot that is cleared although a later entry was probed past it.
TEST_F(write_index_test, finds_entries_after_dropped_blocks) {
    support::random dice{1};
    std::vector<word*> scattered(400);
    for (word*& w : scattered) w = reinterpret_cast<word*>(dice.below(std::size_t{1} << 40) * 8);
    std::ranges::sort(scattered);
    scattered.erase(std::ranges::unique(scattered).begin(), scattered.end());
    const std::size_t blocks = support::rounds(2000);
    for (std::size_t n = 0; n < blocks; ++n) {
        const auto size = std::size_t{1} << dice.below(9);
        while (entries_.size() < std::min(size, scattered.size())) {
            word* const w = scattered[dice.below(scattered.size())];
            if (index_.find(entries_, w) == no_entry) add(w);
        }
        drop(dice.below(entries_.size() + 1));
        std::map<word*, std::uint32_t> left;
        for (const write_entry& e : entries_) left[e.address] = static_cast<std::uint32_t>(left.size());
        for (word* const w : scattered) {
            const auto found = left.find(w);
            ASSERT_EQ(index_.find(entries_, w), found != left.end() ? found->second : no_entry) << n;
        }
        if (dice.below(16) == 0) {
            entries_.clear();
            index_.clear();
        }
    }
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
