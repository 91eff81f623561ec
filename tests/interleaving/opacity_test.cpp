// The checker on handwritten histories: the anomalies that it must find, and similar legal histories.
#include <gtest/gtest.h>

#include "opacity.hpp"

namespace interleaving {
namespace {

constexpr int x = 0, y = 1;

operation read(int place, value v) { return {operation::kind::read, place, v}; }
operation write(int place, value v) { return {operation::kind::write, place, v}; }
constexpr operation open{operation::kind::open}, close{operation::kind::close}, undo{operation::kind::undo};

/// Makes one attempt from `begin` to `end`. Its operations happen right before its end, unless they give a time.
attempt make(int thread, instant begin, instant end, bool committed, std::vector<operation> operations) {
    attempt a{.thread = thread,
              .begin = begin,
              .asked = committed ? end - 1 : never,
              .end = end,
              .committed = committed,
              .operations = std::move(operations)};
    for (operation& o : a.operations) {
        if (o.when == 0) o.when = end - 1;
    }
    return a;
}
attempt committed(int thread, instant begin, instant end, std::vector<operation> operations) {
    return make(thread, begin, end, true, std::move(operations));
}
attempt aborted(int thread, instant begin, instant end, std::vector<operation> operations) {
    return make(thread, begin, end, false, std::move(operations));
}
operation at(instant when, operation o) {
    o.when = when;
    return o;
}

testing::AssertionResult opaque(std::vector<attempt> attempts) {
    const auto wrong = find_violation({.initial = {0, 0}, .attempts = std::move(attempts)});
    return wrong ? testing::AssertionFailure() << *wrong : testing::AssertionSuccess();
}

TEST(opacity_test, accepts_empty_and_sequential_histories) {
    EXPECT_TRUE(opaque({}));
    EXPECT_TRUE(opaque({committed(0, 1, 10, {read(x, 0), write(x, 1), read(x, 1)}),
                        committed(1, 11, 20, {read(x, 1), write(x, 2)}), committed(0, 21, 30, {read(x, 2)})}));
}

TEST(opacity_test, accepts_any_order_of_overlapping_attempts) {
    EXPECT_TRUE(opaque({committed(0, 1, 10, {at(9, read(x, 2))}), committed(1, 2, 9, {at(3, write(x, 2))})}));
    EXPECT_TRUE(opaque({committed(0, 1, 10, {read(x, 0)}), committed(1, 2, 9, {write(x, 2)})}));
}

TEST(opacity_test, rejects_a_lost_update) {
    EXPECT_FALSE(
        opaque({committed(0, 1, 10, {read(x, 0), write(x, 1)}), committed(1, 2, 11, {read(x, 0), write(x, 2)})}));
}

TEST(opacity_test, rejects_a_dirty_read) {
    EXPECT_FALSE(opaque({aborted(0, 1, 10, {write(x, 1)}), committed(1, 2, 11, {read(x, 1)})}));
    EXPECT_FALSE(opaque({aborted(0, 1, 10, {write(x, 1)}), aborted(1, 2, 11, {read(x, 1)})}));
}

TEST(opacity_test, rejects_a_read_before_the_commit_request) {
    attempt writer = committed(0, 1, 10, {at(2, write(x, 1))});
    writer.asked = 6;
    EXPECT_FALSE(opaque({writer, committed(1, 3, 12, {at(5, read(x, 1))})}));
    EXPECT_TRUE(opaque({writer, committed(1, 3, 12, {at(7, read(x, 1))})}));
}

TEST(opacity_test, rejects_an_intermediate_read) {
    EXPECT_FALSE(opaque({committed(0, 1, 10, {write(x, 1), write(x, 2)}), committed(1, 2, 11, {at(10, read(x, 1))})}));
}

TEST(opacity_test, rejects_a_write_skew) {
    EXPECT_FALSE(opaque({committed(0, 1, 10, {read(x, 0), read(y, 0), write(x, 1)}),
                         committed(1, 2, 11, {read(x, 0), read(y, 0), write(y, 2)})}));
}

TEST(opacity_test, rejects_a_zombie) {
    const attempt writer = committed(0, 2, 6, {write(x, 1), write(y, 1)});
    const std::vector<operation> torn{at(3, read(x, 0)), at(8, read(y, 1))};
    EXPECT_FALSE(opaque({writer, aborted(1, 1, 10, torn)}));
    EXPECT_FALSE(opaque({writer, committed(1, 1, 10, torn)}));
    attempt live = aborted(1, 1, 10, torn);
    live.end = never;
    EXPECT_FALSE(opaque({writer, live}));
    EXPECT_TRUE(opaque({writer, aborted(1, 1, 10, {at(3, read(x, 0)), at(8, read(y, 0))})}));
    EXPECT_TRUE(opaque({writer, aborted(1, 1, 10, {at(7, read(x, 1)), at(8, read(y, 1))})}));
}

TEST(opacity_test, needs_one_order_for_two_zombies) {
    // Each attempt alone is legal; together they order the writers both ways.
    const attempt first = committed(0, 1, 20, {at(3, write(x, 1))});
    const attempt second = committed(1, 1, 20, {at(3, write(y, 2))});
    attempt sees_x = aborted(2, 1, 30, {at(25, read(x, 1)), at(26, read(y, 0))});
    attempt sees_y = aborted(3, 1, 30, {at(25, read(x, 0)), at(26, read(y, 2))});
    EXPECT_TRUE(opaque({first, second, sees_x}));
    EXPECT_TRUE(opaque({first, second, sees_y}));
    EXPECT_FALSE(opaque({first, second, sees_x, sees_y}));
}

TEST(opacity_test, rejects_a_non_repeatable_read) {
    EXPECT_FALSE(opaque({committed(0, 2, 5, {write(x, 1)}), aborted(1, 1, 9, {at(2, read(x, 0)), at(8, read(x, 1))})}));
}

TEST(opacity_test, respects_real_time) {
    EXPECT_FALSE(opaque({committed(0, 1, 5, {write(x, 1)}), committed(1, 6, 9, {read(x, 0)})}));
    EXPECT_TRUE(opaque({committed(0, 1, 5, {write(x, 1)}), committed(1, 4, 9, {read(x, 0)})}));
    // An aborted reader orders the others: it ended before the second writer began.
    EXPECT_FALSE(opaque({committed(0, 1, 5, {write(x, 1)}), aborted(1, 6, 9, {read(x, 0)})}));
}

TEST(opacity_test, respects_the_order_of_one_thread) {
    EXPECT_FALSE(opaque({committed(0, 1, 5, {read(x, 2)}), committed(0, 5, 9, {read(x, 0)}),
                         committed(1, 1, 9, {at(2, write(x, 2))})}));
}

TEST(opacity_test, checks_reads_of_own_writes) {
    EXPECT_FALSE(opaque({committed(0, 1, 5, {write(x, 1), read(x, 0)})}));
    EXPECT_FALSE(opaque({aborted(0, 1, 5, {write(x, 1), read(x, 0)})}));
    EXPECT_TRUE(opaque({aborted(0, 1, 5, {write(x, 1), read(x, 1)}), committed(0, 6, 9, {read(x, 0)})}));
}

TEST(opacity_test, handles_nested_blocks) {
    EXPECT_TRUE(opaque({committed(0, 1, 9, {write(x, 1), open, read(x, 1), write(x, 2), close, read(x, 2)}),
                        committed(1, 10, 12, {read(x, 2)})}));
    EXPECT_TRUE(opaque({committed(0, 1, 9, {write(x, 1), open, write(x, 2), write(y, 3), undo, read(x, 1), read(y, 0)}),
                        committed(1, 10, 12, {read(x, 1), read(y, 0)})}));
    EXPECT_FALSE(opaque({committed(0, 1, 9, {write(x, 1), open, write(x, 2), undo, read(x, 2)})}));
    EXPECT_FALSE(opaque({committed(0, 1, 9, {open, write(x, 2), undo}), committed(1, 10, 12, {read(x, 2)})}));
    // The reads of an undone block are still reads of the attempt.
    EXPECT_FALSE(opaque({committed(0, 1, 9, {open, at(2, read(x, 0)), undo, at(8, read(y, 2))}),
                         committed(1, 3, 5, {write(x, 2), write(y, 2)})}));
}

TEST(promise_test, holds_for_a_single_irrevocable_attempt) {
    const auto legal = [](std::vector<attempt> attempts) {
        return !find_broken_promise({.initial = {0, 0}, .attempts = std::move(attempts)});
    };
    attempt a = committed(0, 1, 9, {write(x, 1)});
    attempt b = committed(1, 1, 20, {write(x, 2)});
    a.irrevocable = 2;
    b.irrevocable = 10;
    EXPECT_TRUE(legal({a, b}));
    b.irrevocable = 5;
    EXPECT_FALSE(legal({a, b}));
    a.committed = false;
    EXPECT_FALSE(legal({a}));
    a.gave_up = true;
    EXPECT_TRUE(legal({a}));
}

TEST(promise_test, forbids_commits_of_killed_attempts) {
    attempt a = committed(0, 1, 9, {write(x, 1)});
    EXPECT_FALSE(find_broken_promise({.initial = {0, 0}, .attempts = {a}}));
    a.doomed = true;
    EXPECT_TRUE(find_broken_promise({.initial = {0, 0}, .attempts = {a}}));
    a.operations = {read(x, 0)};
    EXPECT_FALSE(find_broken_promise({.initial = {0, 0}, .attempts = {a}}));
}

}  // namespace
}  // namespace interleaving
