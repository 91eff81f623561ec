// Catches a table of abstract locks whose operations take longer the more are held, that loses one where they move, or
// that keeps memory when they are gone.
#include "core/state/holding_table.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <random>
#include <set>

namespace tutti::core {
namespace {

class holding_table_test : public ::testing::Test {
protected:
    void insert(std::uint64_t key) {
        holdings_.push_back({.name = {this, key}, .shared = false, .who = nullptr, .age = 0});
        table_.make_room();
        table_.insert(holdings_.back(), hash(key));
    }
    /// The upper bits, which have chosen the table, are the same for all that is in it.
    static std::uint64_t hash(std::uint64_t key) { return hash_of({nullptr, key}) >> holding_table::bits_of_table; }
    std::size_t looks(std::uint64_t key) const {
        return table_.for_each(hash(key), [](const abstract_holding&) {});
    }
    std::size_t looks_for_all(std::size_t keys) const {
        std::size_t sum = 0;
        for (std::uint64_t key = 0; key < keys; ++key) sum += looks(key);
        return sum;
    }
    std::set<const abstract_holding*> held_under(std::uint64_t key) const {
        std::set<const abstract_holding*> found;
        table_.for_each(hash(key), [&](const abstract_holding& h) { found.insert(&h); });
        return found;
    }

    ~holding_table_test() override { table_.attempt_fail(); }  // tables live for ever, and have no destructor

    holding_table table_;
    std::deque<abstract_holding> holdings_;
};

TEST_F(holding_table_test, looks_at_as_many_slots_however_many_are_held) {
    // In steps of a tenth, so that one is just before each change of size.
    for (std::size_t held = 0; held < std::size_t{1} << 17;) {
        for (const std::size_t until = held + held / 10 + 8; held != until; ++held) insert(held);
        EXPECT_LE(looks_for_all(held), 4 * held) << held;
        EXPECT_LE(table_.slots(), 4 * held) << held;
    }
}

TEST_F(holding_table_test, is_small_again_when_all_are_gone) {
    const std::size_t before = table_.slots();
    constexpr std::size_t many = 10'000;
    for (std::size_t i = 0; i < many; ++i) insert(i);
    for (std::size_t i = many; i-- != 0;) {
        table_.remove(holdings_[i], hash(i));
        EXPECT_LE(table_.slots(), std::max<std::size_t>(8 * i, 8)) << i;
    }
    EXPECT_EQ(table_.slots(), before);
}

// Against a model, with several of one hash and removals in any order.
TEST_F(holding_table_test, finds_what_is_held_and_nothing_else) {
    constexpr std::uint64_t keys = 150;
    std::mt19937_64 dice{1};
    std::map<std::uint64_t, std::set<const abstract_holding*>> model;
    for (int step = 0; step < 60'000; ++step) {
        const std::uint64_t key = dice() % keys;
        auto& held = model[key];
        // Many for a while, few for a while.
        if (dice() % 100 < (step / 6'000 % 2 == 0 ? 70u : 30u)) {
            insert(key);
            held.insert(&holdings_.back());
        } else if (!held.empty()) {
            table_.remove(**held.begin(), hash(key));
            held.erase(held.begin());
        }
        ASSERT_EQ(held_under(key), held) << step;
    }
    for (const auto& [key, held] : model) {
        EXPECT_EQ(held_under(key), held);
    }
}

TEST_F(holding_table_test, is_empty_once_abandoned) {
    for (std::size_t i = 0; i < 100; ++i) insert(i);
    table_.attempt_fail();
    EXPECT_EQ(looks(7), 1u);
    insert(7);
    EXPECT_EQ(held_under(7), std::set<const abstract_holding*>{&holdings_.back()});
}

}  // namespace
}  // namespace tutti::core
