#include "tpcc/random.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "tpcc/strings.hpp"

namespace tpcc {
namespace {

TEST(tpcc_random, equal_seeds_give_equal_sequences) {
    random_source a{42}, b{42}, c{43};
    bool differs = false;
    for (int i = 0; i < 1000; ++i) {
        const int x = a.uniform(0, 1'000'000);
        ASSERT_EQ(x, b.uniform(0, 1'000'000));
        differs = differs || x != c.uniform(0, 1'000'000);
    }
    EXPECT_TRUE(differs);
}

TEST(tpcc_random, purposes_and_parts_have_sequences_of_their_own) {
    std::set<std::uint64_t> seeds;
    for (const purpose p : {purpose::constants, purpose::items, purpose::stock, purpose::district, purpose::worker}) {
        for (std::uint64_t part = 0; part < 100; ++part) seeds.insert(derive_seed(7, p, part));
    }
    EXPECT_EQ(seeds.size(), 500u);
}

TEST(tpcc_random, uniform_reaches_both_ends_and_nothing_beyond) {
    random_source random{1};
    std::vector<int> hits(7);
    for (int i = 0; i < 70'000; ++i) {
        const int x = random.uniform(-3, 3);
        ASSERT_GE(x, -3);
        ASSERT_LE(x, 3);
        ++hits[static_cast<std::size_t>(x + 3)];
    }
    // Binomial(70000, 1/7): standard deviation 93.
    for (const int h : hits) EXPECT_NEAR(h, 10'000, 6 * 93);
}

TEST(tpcc_random, nurand_stays_in_range_and_is_not_uniform) {
    random_source random{1};
    constexpr int low = 1, high = 3000, draws = 300'000;
    std::vector<int> hits(high + 1);
    for (int i = 0; i < draws; ++i) {
        const int x = random.nurand(nurand_customer, low, high, 123);
        ASSERT_GE(x, low);
        ASSERT_LE(x, high);
        ++hits[static_cast<std::size_t>(x)];
    }
    // The bitwise or makes numbers with many ones in their low ten bits frequent. Uniform draws would give 100 each.
    EXPECT_GT(*std::max_element(hits.begin(), hits.end()), 500);
}

TEST(tpcc_random, nurand_is_shifted_by_its_constant) {
    random_source a{5}, b{5};
    for (int i = 0; i < 1000; ++i) {
        const int x = a.nurand(nurand_last_name, 0, 999, 0);
        EXPECT_EQ(b.nurand(nurand_last_name, 0, 999, 100), (x + 100) % 1000);
    }
}

TEST(tpcc_random, constants_obey_the_delta_rule_for_every_seed) {
    for (std::uint64_t seed = 0; seed < 2000; ++seed) {
        const nurand_constants c = nurand_constants::from_seed(seed);
        EXPECT_TRUE(valid_last_name_delta(c.last_name_load, c.last_name_run)) << "seed " << seed;
        for (const int x : {c.last_name_load, c.last_name_run}) {
            EXPECT_GE(x, 0);
            EXPECT_LE(x, 255);
        }
        EXPECT_LE(c.customer, 1023);
        EXPECT_LE(c.item, 8191);
    }
}

TEST(tpcc_random, delta_rule_has_its_holes) {
    EXPECT_FALSE(valid_last_name_delta(0, 64));
    EXPECT_TRUE(valid_last_name_delta(0, 65));
    EXPECT_TRUE(valid_last_name_delta(65, 0));
    EXPECT_FALSE(valid_last_name_delta(0, 96));
    EXPECT_FALSE(valid_last_name_delta(112, 0));
    EXPECT_TRUE(valid_last_name_delta(0, 119));
    EXPECT_FALSE(valid_last_name_delta(0, 120));
}

// The examples of clause 4.3.2.3, the ends, and uniqueness of the names.
TEST(tpcc_strings, last_names_are_made_of_three_syllables) {
    EXPECT_EQ(last_name(371).view(), "PRICALLYOUGHT");
    EXPECT_EQ(last_name(40).view(), "BARPRESBAR");
    EXPECT_EQ(last_name(0).view(), "BARBARBAR");
    EXPECT_EQ(last_name(999).view(), "EINGEINGEING");
    std::set<std::string> all;
    for (int i = 0; i < last_name_count; ++i) all.emplace(last_name(i).view());
    EXPECT_EQ(all.size(), 1000u);
}

TEST(tpcc_strings, one_in_ten_data_columns_is_original) {
    random_source random{3};
    int originals = 0;
    for (int i = 0; i < 10'000; ++i) {
        text<50> data;
        make_data(random, data);
        ASSERT_GE(data.view().size(), 26u);
        ASSERT_LE(data.view().size(), 50u);
        originals += holds_original(data) ? 1 : 0;
    }
    // Binomial(10000, 0.1): standard deviation 30.
    EXPECT_NEAR(originals, 1000, 6 * 30);
}

TEST(tpcc_strings, text_cuts_off_what_does_not_fit) {
    text<5> t{"abc"};
    t.append("defgh");
    EXPECT_EQ(t.view(), "abcde");
    t.append("x");
    EXPECT_EQ(t.view(), "abcde");
}

}  // namespace
}  // namespace tpcc
