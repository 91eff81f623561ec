// The sample of durations: it is uniform, and its percentiles are correct.
#include "observe/reservoir.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "support/effort.hpp"
#include "support/worker_group.hpp"

namespace tutti::observe {
namespace {

TEST(reservoir_test, is_empty_at_first) {
    reservoir r{8};
    EXPECT_EQ(r.percentile(0.99), 0u);
    EXPECT_TRUE(r.sample().empty());
}

TEST(reservoir_test, keeps_everything_until_it_is_full) {
    reservoir r{100};
    for (std::uint64_t i = 1; i <= 100; ++i) r.add(i);
    auto all = r.sample();
    std::sort(all.begin(), all.end());
    for (std::uint64_t i = 1; i <= 100; ++i) EXPECT_EQ(all[i - 1], i);
}

TEST(reservoir_test, uses_the_nearest_rank) {
    reservoir r{100};
    for (std::uint64_t i = 100; i > 0; --i) r.add(i);
    EXPECT_EQ(r.percentile(0.99), 99u);
    EXPECT_EQ(r.percentile(0.5), 50u);
    EXPECT_EQ(r.percentile(0.001), 1u);
    EXPECT_EQ(r.percentile(1), 100u);
}

TEST(reservoir_test, uses_few_samples_at_once) {
    reservoir r{128};
    r.add(10);
    EXPECT_EQ(r.percentile(0.99), 10u);
    r.add(30);
    EXPECT_EQ(r.percentile(0.99), 30u);
    r.add(20);
    EXPECT_EQ(r.percentile(0.5), 20u);
}

TEST(reservoir_test, leaves_out_outliers) {
    reservoir r{128};
    r.add(10);
    EXPECT_EQ(r.percentile(0.99, 1), 10u);
    r.add(5000);
    EXPECT_EQ(r.percentile(0.99, 1), 10u);
    r.add(20);
    EXPECT_EQ(r.percentile(0.99, 1), 20u);
    EXPECT_EQ(r.percentile(0.5, 1), 20u);
    EXPECT_EQ(r.percentile(0.99), 5000u);
}

TEST(reservoir_test, forgets_the_longest) {
    reservoir r{4};
    r.forget_longest();
    for (const std::uint64_t i : {3u, 9u, 1u, 7u}) r.add(i);
    r.forget_longest();
    EXPECT_EQ(r.percentile(1), 7u);
    r.add(8);
    EXPECT_EQ(r.percentile(1), 8u);
    EXPECT_EQ(r.sample().size(), 4u);
    for (int i = 0; i < 4; ++i) r.forget_longest();
    EXPECT_EQ(r.percentile(1), 0u);
}

// The sample follows the stream, however long the stream has been.
TEST(reservoir_test, forgets_old_durations) {
    constexpr std::size_t size = 32;
    reservoir r{size};
    for (int i = 0; i < 100'000; ++i) r.add(1);
    for (std::size_t i = 0; i < 4 * reservoir::memory * size; ++i) r.add(2);
    const auto now = r.sample();
    EXPECT_LT(std::count(now.begin(), now.end(), 1u), 5);
}

// With a full reservoir, a percentile may lag by at most a sixteenth of the sample.
TEST(reservoir_test, updates_percentiles_with_the_sample) {
    reservoir r{64, 7};
    for (int i = 0; i < 64; ++i) r.add(1);
    EXPECT_EQ(r.percentile(0.5), 1u);
    for (int i = 0; i < 64 * 64; ++i) {
        r.add(2);
        const auto now = r.sample();
        const auto twos = std::count(now.begin(), now.end(), 2u);
        const std::uint64_t median = r.percentile(0.5);
        EXPECT_TRUE(twos <= 32 + 4 || median == 2) << twos;
        EXPECT_TRUE(twos >= 32 - 4 || median == 1) << twos;
    }
    EXPECT_EQ(r.percentile(0.5), 2u);
}

// Each of k durations is in the sample with probability n/k, wherever in the stream it came. The test counts over many
// seeds by tenths of the stream, and compares by Pearson's chi-squared. Catches the two usual mistakes: drawing from k
// - 1 or from n places, and replacing with a fixed probability, which biases the late ones.
TEST(reservoir_test, is_uniform_over_the_stream) {
    constexpr std::size_t size = 20, stream = 200, tenth = stream / 10;
    constexpr std::uint64_t seeds = 1000;
    std::array<double, 10> hits{};
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        reservoir r{size, seed};
        for (std::uint64_t i = 0; i < stream; ++i) r.add(i);
        const auto sample = r.sample();
        ASSERT_EQ(sample.size(), size);
        for (const std::uint64_t i : sample) ++hits[i / tenth];
    }
    const double expected = double{size} * seeds / 10;
    double chi_squared = 0;
    for (const double h : hits) chi_squared += (h - expected) * (h - expected) / expected;
    EXPECT_LT(chi_squared, 27.9);  // nine degrees of freedom: one correct generator in a thousand exceeds it
}

// Each place of the sample must be replaced with the same probability.
TEST(reservoir_test, replaces_every_sample_equally_often) {
    constexpr std::size_t size = 16;
    std::array<double, size> kept{};
    for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
        reservoir r{size, seed};
        for (std::uint64_t i = 0; i < 2 * size; ++i) r.add(i);
        for (const std::uint64_t i : r.sample()) {
            if (i < size) ++kept[i];
        }
    }
    double chi_squared = 0;
    for (const double k : kept) chi_squared += (k - 1000) * (k - 1000) / 1000;
    EXPECT_LT(chi_squared, 37.7);  // fifteen degrees of freedom
}

TEST(reservoir_test, serves_several_threads) {
    reservoir r{32};
    const std::size_t each = support::rounds(20'000);
    std::atomic<int> wrong{0};
    support::run_threads(4, [&](unsigned me) {
        for (std::size_t i = 0; i < each; ++i) {
            r.add(me + 1);
            const std::uint64_t p = r.percentile(0.9);
            if (p < 1 || p > 4) ++wrong;
        }
    });
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(r.sample().size(), 32u);
}

}  // namespace
}  // namespace tutti::observe
