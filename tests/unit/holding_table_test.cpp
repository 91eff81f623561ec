// Catches a table of abstract locks whose operations get slower with more locks, that loses a lock when entries move,
// or that keeps memory afterwards.
#include "core/state/holding_table.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <random>
#include <set>
#include <vector>

namespace tutti::core {
namespace {

class holding_table_test : public ::testing::Test {
protected:
    /// Inserts a lock of a transaction that holds nothing else.
    abstract_holding& insert(std::uint64_t key, bool shared = true) {
        return insert_for(holder(holdings_.size()), key, shared);
    }
    abstract_holding& insert_for(descriptor* who, std::uint64_t key, bool shared) {
        holdings_.push_back({.name = name(key), .shared = shared, .holder = who, .age = 0});
        table_.reserve_one();
        table_.insert(holdings_.back(), hash(key));
        return holdings_.back();
    }
    /// Returns a fake holder, because the table does not access holders. Descriptors are at multiples of their size.
    static descriptor* holder(std::size_t number) { return reinterpret_cast<descriptor*>((number + 1) * 1024); }
    lock_name name(std::uint64_t key) const { return {this, key}; }
    /// The upper bits have chosen the table, so they are equal for all of its entries.
    static std::uint64_t hash(std::uint64_t key) { return hash_of({nullptr, key}) >> holding_table::bits_of_table; }
    std::size_t looks(std::uint64_t key) const { return table_.first(name(key), hash(key)).probes; }
    std::size_t looks_for_all(std::size_t keys) const {
        std::size_t sum = 0;
        for (std::uint64_t key = 0; key < keys; ++key) sum += looks(key);
        return sum;
    }
    const abstract_holding* held_by(const descriptor* who, std::uint64_t key) const {
        return table_.held_by(*who, name(key), hash(key)).holding;
    }
    /// Returns the list of holdings in order, and checks its links.
    std::vector<const abstract_holding*> list_of(std::uint64_t key) const {
        std::vector<const abstract_holding*> found;
        const abstract_holding* const first = table_.first(name(key), hash(key)).holding;
        for (const abstract_holding* h = first; h != nullptr; h = h->next) {
            if (!found.empty()) {
                EXPECT_EQ(h->previous, found.back());
            }
            found.push_back(h);
        }
        if (first != nullptr) {
            EXPECT_EQ(first->previous, found.back());
        }
        return found;
    }
    std::set<const abstract_holding*> held_under(std::uint64_t key) const {
        const auto list = list_of(key);
        return {list.begin(), list.end()};
    }

    ~holding_table_test() override { table_.reset_after_fork(); }  // tables are never destroyed, and have no destructor

    holding_table table_;
    std::deque<abstract_holding> holdings_;
};

TEST_F(holding_table_test, probes_do_not_grow_with_holdings) {
    // The number of locks grows by a tenth per step, so that one step is just before each change of the table's size.
    for (std::size_t held = 0; held < std::size_t{1} << 17;) {
        for (const std::size_t until = held + held / 10 + 8; held != until; ++held) insert(held);
        EXPECT_LE(looks_for_all(held), 4 * held) << held;
        EXPECT_LE(table_.slots(), 4 * held) << held;
    }
}

TEST_F(holding_table_test, shrinks_when_it_becomes_empty) {
    const std::size_t before = table_.slots();
    constexpr std::size_t many = 10'000;
    for (std::size_t i = 0; i < many; ++i) insert(i);
    for (std::size_t i = many; i-- != 0;) {
        table_.remove(holdings_[i], hash(i));
        EXPECT_LE(table_.slots(), std::max<std::size_t>(8 * i, 8)) << i;
    }
    EXPECT_EQ(table_.slots(), before);
}

TEST_F(holding_table_test, probes_do_not_grow_with_sharers) {
    constexpr std::uint64_t key = 7;
    for (std::size_t held = 0; held < std::size_t{1} << 15;) {
        for (const std::size_t until = held + held / 2 + 8; held != until; ++held) insert(key);
        std::size_t sum = 0;
        for (std::size_t i = 0; i < held; ++i) {
            const auto found = table_.held_by(*holder(i), name(key), hash(key));
            EXPECT_EQ(found.holding, &holdings_[i]);
            sum += found.probes;
        }
        EXPECT_LE(sum, 5 * held) << held;
        EXPECT_LE(table_.held_by(*holder(held), name(key), hash(key)).probes, 64u) << held;
    }
}

TEST_F(holding_table_test, lists_exclusive_and_latest_holdings_first) {
    const auto& sharer = insert(7);
    const auto& outer = insert(7, false);
    const auto& late_sharer = insert(7);
    const auto& inner = insert(7, false);
    const auto& also_shares = insert_for(inner.holder, 7, true);
    using list = std::vector<const abstract_holding*>;
    EXPECT_EQ(list_of(7), (list{&inner, &outer, &sharer, &late_sharer, &also_shares}));
    table_.remove(holdings_[3], hash(7));
    EXPECT_EQ(list_of(7), (list{&outer, &sharer, &late_sharer, &also_shares}));
    EXPECT_EQ(held_by(inner.holder, 7), &also_shares);
    table_.remove(holdings_[0], hash(7));
    EXPECT_EQ(list_of(7), (list{&outer, &late_sharer, &also_shares}));
    EXPECT_EQ(held_by(sharer.holder, 7), nullptr);
}

// Compares the table with a model: several holdings of one name, equal hashes of different names, and removals in any
// order.
TEST_F(holding_table_test, finds_exactly_what_is_held) {
    constexpr std::uint64_t keys = 150;
    std::mt19937_64 dice{1};
    std::map<std::uint64_t, std::set<abstract_holding*>> model;
    for (int step = 0; step < 60'000; ++step) {
        const std::uint64_t key = dice() % 3 == 0 ? 0 : dice() % keys;
        auto& held = model[key];
        // Periods with many holdings, and periods with few.
        if (dice() % 100 < (step / 6'000 % 2 == 0 ? 70u : 30u)) {
            held.insert(&insert(key, dice() % 4 != 0));
        } else if (!held.empty()) {
            auto one = held.begin();
            std::advance(one, static_cast<std::ptrdiff_t>(dice() % std::min<std::size_t>(held.size(), 20)));
            table_.remove(**one, hash(key));
            EXPECT_EQ(held_by((*one)->holder, key), nullptr);
            held.erase(one);
        }
        if (key == 0 && step % 64 != 0) continue;  // a long list
        const auto list = list_of(key);
        ASSERT_EQ((std::set<const abstract_holding*>{list.begin(), list.end()}),
                  (std::set<const abstract_holding*>{held.begin(), held.end()}))
            << step;
        ASSERT_TRUE(std::ranges::is_partitioned(list, [](const abstract_holding* h) { return !h->shared; })) << step;
        for (const abstract_holding* h : list) ASSERT_EQ(held_by(h->holder, key), h) << step;
    }
}

TEST_F(holding_table_test, distinguishes_names_with_the_same_hash) {
    abstract_holding other{.name = {nullptr, 7}, .shared = true, .holder = holder(1000), .age = 0};
    const auto& first = insert(7);
    table_.reserve_one();
    table_.insert(other, hash(7));
    const auto& second = insert(7);
    EXPECT_EQ(table_.first(other.name, hash(7)).holding, &other);
    EXPECT_EQ(list_of(7), (std::vector<const abstract_holding*>{&first, &second}));
    EXPECT_EQ(held_by(other.holder, 7), nullptr);
    table_.remove(other, hash(7));
    EXPECT_EQ(table_.first(other.name, hash(7)).holding, nullptr);
    EXPECT_EQ(held_by(second.holder, 7), &second);
}

TEST_F(holding_table_test, is_empty_after_a_reset) {
    for (std::size_t i = 0; i < 100; ++i) insert(i);
    table_.reset_after_fork();
    EXPECT_EQ(looks(7), 1u);
    insert(7);
    EXPECT_EQ(held_under(7), std::set<const abstract_holding*>{&holdings_.back()});
}

}  // namespace
}  // namespace tutti::core
