#include "core/state/partial_rollback_predictor.hpp"

#include <gtest/gtest.h>

namespace tutti::core {
namespace {

int tries_in(partial_rollback_predictor& r, int conflicts) {
    int tries = 0;
    for (int i = 0; i < conflicts; ++i) tries += r.is_worthwhile() ? 1 : 0;
    return tries;
}

TEST(partial_rollback_predictor_test, stops_after_clearly_more_failures) {
    partial_rollback_predictor r;
    for (int i = 0; i < 8; ++i) r.note_failure();
    EXPECT_EQ(tries_in(r, 100), 100);
    r.note_failure();
    EXPECT_LT(tries_in(r, 320), 16);
}

TEST(partial_rollback_predictor_test, probes_when_it_does_not_pay) {
    partial_rollback_predictor r;
    for (int i = 0; i < 1000; ++i) r.note_failure();
    EXPECT_EQ(tries_in(r, 320), 10);
}

TEST(partial_rollback_predictor_test, recovers_after_long_failure) {
    partial_rollback_predictor r;
    for (int i = 0; i < 1000; ++i) r.note_failure();
    for (int i = 0; i < 8; ++i) r.note_commit();
    EXPECT_EQ(tries_in(r, 100), 100);
}

TEST(partial_rollback_predictor_test, stops_after_failures_despite_long_success) {
    partial_rollback_predictor r;
    for (int i = 0; i < 1000; ++i) r.note_commit();
    for (int i = 0; i < 9; ++i) r.note_failure();
    EXPECT_LT(tries_in(r, 320), 16);
}

}  // namespace
}  // namespace tutti::core
