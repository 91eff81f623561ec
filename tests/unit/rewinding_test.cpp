#include "core/state/rewinding.hpp"

#include <gtest/gtest.h>

namespace tutti::core {
namespace {

int tries_in(rewinding& r, int conflicts) {
    int tries = 0;
    for (int i = 0; i < conflicts; ++i) tries += r.worthwhile() ? 1 : 0;
    return tries;
}

TEST(rewinding, is_tried_until_it_has_failed_clearly_more_often) {
    rewinding r;
    for (int i = 0; i < 8; ++i) r.note_failure();
    EXPECT_EQ(tries_in(r, 100), 100);
    r.note_failure();
    EXPECT_LT(tries_in(r, 320), 16);
}

TEST(rewinding, is_tried_now_and_then_even_when_it_does_not_pay) {
    rewinding r;
    for (int i = 0; i < 1000; ++i) r.note_failure();
    EXPECT_EQ(tries_in(r, 320), 10);
}

TEST(rewinding, comes_back_however_long_it_failed) {
    rewinding r;
    for (int i = 0; i < 1000; ++i) r.note_failure();
    for (int i = 0; i < 8; ++i) r.note_commit();
    EXPECT_EQ(tries_in(r, 100), 100);
}

TEST(rewinding, goes_however_long_it_paid) {
    rewinding r;
    for (int i = 0; i < 1000; ++i) r.note_commit();
    for (int i = 0; i < 9; ++i) r.note_failure();
    EXPECT_LT(tries_in(r, 320), 16);
}

}  // namespace
}  // namespace tutti::core
