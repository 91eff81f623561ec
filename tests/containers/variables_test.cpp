// The operations of var beyond get and set, for small and large types; and waits for conditions.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "tutti/tutti.hpp"

namespace tutti::containers {
namespace {

template <class T>
void use(const T& first, const T& second, const T& third) {
    var<T> a{first}, b{second};
    atomically([&](tx& t) {
        EXPECT_EQ(a.exchange(t, third), first);
        EXPECT_EQ(a.get(t), third);
        a.swap(t, b);
        EXPECT_EQ(a.get(t), second);
        EXPECT_EQ(b.get(t), third);
        a.swap(t, a);
        EXPECT_EQ(a.get(t), second);
        EXPECT_EQ(a.update(t, [](const T& v) { return T(v + v); }), second + second);
    });
    EXPECT_EQ(a.load(), second + second);
    EXPECT_EQ(b.load(), third);
    // A roll-back of a nested block undoes its exchanges, and so does the roll-back of the whole block.
    EXPECT_FALSE(try_atomically([&](tx& t) {
        b.swap(t, a);
        EXPECT_FALSE(try_atomically([&](tx& inner) {
            a.set(inner, first);
            a.swap(inner, b);
            cancel(inner);
        }));
        EXPECT_EQ(a.get(t), third);
        EXPECT_EQ(b.get(t), second + second);
        cancel(t);
    }));
    EXPECT_EQ(a.load(), second + second);
    EXPECT_EQ(b.load(), third);
}

TEST(var, updates_exchanges_and_swaps_a_small_type) { use(1, 2, 3); }
TEST(var, updates_exchanges_and_swaps_a_large_type) {
    use<std::string>("a first text that no small buffer holds", "a second one, longer than that by some", "a third");
}

// Formally, a std::atomic<int> is trivially copyable, but it cannot be copied.
static_assert(detail::in_place<int> && !detail::in_place<std::atomic<int>> && !detail::in_place<std::string>);

TEST(check, waits_for_its_condition) {
    var<int> level{0};
    std::jthread other{[&] {
        for (int i = 0; i < 3; ++i) atomically([&](tx& t) { level.update(t, [](int v) { return v + 1; }); });
    }};
    EXPECT_EQ(atomically([&](tx& t) {
                  const int seen = level.get(t);
                  check(t, seen == 3);
                  return seen;
              }),
              3);
}

template <class Clock>
void wait_until_it_is_late() {
    var<int> never{0};
    const auto when = Clock::now() + std::chrono::milliseconds{20};
    unsigned attempts = 0;
    atomically([&](tx& t) {
        ++attempts;
        if (never.get(t) == 0) retry_until(t, when);
    });
    EXPECT_GE(Clock::now(), when);
    EXPECT_GE(attempts, 2U);
}
TEST(retry_until, returns_at_its_time) {
    wait_until_it_is_late<std::chrono::steady_clock>();
    wait_until_it_is_late<std::chrono::system_clock>();
}
TEST(retry_until, does_not_wait_for_a_past_time) {
    var<int> never{0};
    atomically([&](tx& t) {
        static_cast<void>(never.get(t));
        retry_until(t, std::chrono::steady_clock::now());
        retry_until(t, std::chrono::sys_days{});
        EXPECT_EQ(t.attempt(), 1U);
    });
}
TEST(retry_until, wakes_like_retry_before_the_maximum_time) {
    var<int> come{0};
    std::jthread other{[&] { atomically([&](tx& t) { come.set(t, 1); }); }};
    atomically([&](tx& t) {
        if (come.get(t) == 0) retry_until(t, std::chrono::system_clock::time_point::max());
    });
    EXPECT_EQ(come.load(), 1);
}

}  // namespace
}  // namespace tutti::containers
