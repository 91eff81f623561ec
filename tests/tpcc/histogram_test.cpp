#include "cli/histogram.hpp"

#include <gtest/gtest.h>

namespace tpcc {

using cli::histogram;
namespace {

TEST(tpcc_histogram, empty_has_no_percentiles) {
    const histogram h;
    EXPECT_EQ(h.percentile(0.99), 0u);
    EXPECT_EQ(h.max(), 0u);
}

TEST(tpcc_histogram, percentiles_are_within_their_error) {
    histogram h;
    for (std::uint64_t v = 1; v <= 1'000'000; ++v) h.add(v);
    EXPECT_EQ(h.total(), 1'000'000u);
    EXPECT_EQ(h.max(), 1'000'000u);
    for (const double q : {0.001, 0.5, 0.9, 0.99, 0.999}) {
        const double expected = q * 1e6;
        EXPECT_NEAR(static_cast<double>(h.percentile(q)), expected, expected / 64) << q;
    }
    EXPECT_EQ(h.percentile(1.0), 1'000'000u);
}

TEST(tpcc_histogram, small_durations_are_exact) {
    for (std::uint64_t v = 0; v < 128; ++v) {
        histogram h;
        h.add(v);
        h.add(1'000'000);
        EXPECT_EQ(h.percentile(0.5), v);
    }
}

TEST(tpcc_histogram, every_power_of_two_and_its_neighbours_have_a_bucket) {
    for (int bit = 1; bit < 64; ++bit) {
        for (const std::uint64_t v : {(std::uint64_t{1} << bit) - 1, std::uint64_t{1} << bit}) {
            histogram h;
            h.add(v);
            EXPECT_EQ(h.max(), v);
            EXPECT_LE(h.percentile(0.5), v);
            if (bit <= 40) {
                EXPECT_GE(h.percentile(0.5), v - v / 64) << v;
            }
        }
    }
}

TEST(tpcc_histogram, merging_is_adding_everything) {
    histogram a, b, both;
    for (std::uint64_t v = 0; v < 5000; ++v) {
        (v % 3 == 0 ? a : b).add(v * 37);
        both.add(v * 37);
    }
    a.merge(b);
    EXPECT_EQ(a.total(), both.total());
    EXPECT_EQ(a.max(), both.max());
    for (const double q : {0.1, 0.5, 0.99}) EXPECT_EQ(a.percentile(q), both.percentile(q));
}

}  // namespace
}  // namespace tpcc
