// Leaving a stack and returning to it: the state that a switch exchanges, and the detection of an overflow.
#include "preempt/fiber.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <cfenv>
#include <exception>
#include <stdexcept>

#include "preempt/stack.hpp"

namespace tutti::preempt {
namespace {

struct scene {
    fiber main, other;
    stack room{64 * 1024};
    int step = 0;
    void away() { fiber::switch_between(other, main); }
    void go() { fiber::switch_between(main, other); }
    void start(void (*run)(void*) noexcept) {
        other.prepare(room, run, this);
        go();
    }
    [[noreturn]] void end() { fiber::finish_for(other, main); }
};

TEST(fiber_test, continues_where_it_was_left) {
    scene s;
    s.start([](void* p) noexcept {
        auto& self = *static_cast<scene*>(p);
        for (int i = 0; i < 1000; ++i) {
            self.step = i;
            self.away();
        }
        self.end();
    });
    for (int i = 0; i < 1000; ++i) {
        ASSERT_EQ(s.step, i);
        s.go();
    }
}

TEST(fiber_test, keeps_its_errno_and_rounding) {
    scene s;
    errno = 1;
    s.start([](void* p) noexcept {
        auto& self = *static_cast<scene*>(p);
        self.step = errno;
        errno = 7;
        std::fesetround(FE_UPWARD);
        self.away();
        self.step = errno == 7 && std::fegetround() == FE_UPWARD ? 2 : 3;
        self.end();
    });
    EXPECT_EQ(s.step, 0) << "a fresh fiber starts with errno 0";
    EXPECT_EQ(errno, 1);
    EXPECT_EQ(std::fegetround(), FE_TONEAREST);
    s.go();
    EXPECT_EQ(s.step, 2);
}

// Catches a switch that leaves the thread's exception state in place: the inner handler would end the outer exception.
TEST(fiber_test, keeps_the_exception_that_it_handles) {
    scene s;
    try {
        throw std::runtime_error{"outside"};
    } catch (const std::exception& outside) {
        s.start([](void* p) noexcept {
            auto& self = *static_cast<scene*>(p);
            try {
                throw std::runtime_error{"inside"};
            } catch (const std::exception&) {
                self.away();
                try {
                    throw;
                } catch (const std::exception& again) {
                    self.step = std::string{again.what()} == "inside" ? 1 : 2;
                }
            }
            self.end();
        });
        try {
            throw;
        } catch (const std::exception& again) {
            EXPECT_STREQ(again.what(), "outside");
        }
        s.go();
        EXPECT_STREQ(outside.what(), "outside");
    }
    EXPECT_EQ(s.step, 1);
    EXPECT_EQ(std::uncaught_exceptions(), 0);
}

TEST(fiber_test, can_be_prepared_again) {
    scene s;
    for (int i = 0; i < 100; ++i) {
        s.start([](void* p) noexcept {
            auto& self = *static_cast<scene*>(p);
            ++self.step;
            if (self.step % 2 == 0) self.away();  // the fiber is dropped there
            self.end();
        });
    }
    EXPECT_EQ(s.step, 100);
}

TEST(stack_test, has_a_guard_and_the_requested_size) {
    const stack s{10'000};
    EXPECT_GE(s.bytes(), 10'000u);
    EXPECT_EQ(s.top() - s.bottom(), static_cast<std::ptrdiff_t>(s.bytes()));
    EXPECT_TRUE(s.is_below(s.bottom() - 1));
    EXPECT_FALSE(s.is_below(s.bottom()));
    *s.bottom() = 1;
    EXPECT_DEATH(*(s.bottom() - 1) = 1, "");
}

TEST(stack_test, opens_and_closes_reserves) {
    stack s{10'000};
    ASSERT_TRUE(s.open_reserve());
    *(s.bottom() - 1) = 1;
    EXPECT_FALSE(s.is_below(s.bottom() - 1));
    char* const last = s.open_termination_area();
    ASSERT_NE(last, nullptr);
    *(last - 1) = 1;
    EXPECT_TRUE(s.is_below(last - 1)) << "no access of its context's gets there";
    s.close();
    EXPECT_TRUE(s.is_below(s.bottom() - 1));
    EXPECT_DEATH(*(s.bottom() - 1) = 1, "");
    EXPECT_DEATH(*(last - 1) = 1, "");
    ASSERT_TRUE(s.open_reserve());
    EXPECT_EQ(*(s.bottom() - 1), 0) << "its memory was given back";
}

}  // namespace
}  // namespace tutti::preempt
