// Waiting for a seat. Catches a departure that calls nobody although somebody waits, a waiter that gives up and takes
// with it what it was called for, and one that is passed over for ever: all of them hang.
#include "core/seats.hpp"

#include <gtest/gtest.h>

#include <atomic>

#include "core/registry.hpp"
#include "support/crew.hpp"
#include "support/effort.hpp"
#include "support/random.hpp"
#include "support/watchdog.hpp"

namespace tutti::core {
namespace {

using support::crew;
using support::rounds;

class seats : public testing::TestWithParam<status> {};

TEST_P(seats, are_found_by_all_who_wait) {
    const support::watchdog dog{"seats"};
    const std::size_t each = rounds(400);
    std::atomic<std::uint64_t> got{0};
    std::atomic<int> sitting{0}, too_many{0};
    const int most = GetParam() == status::irrevocable ? 1 : static_cast<int>(seat_count) - 1;
    crew(32, [&](unsigned) {
        descriptor& d = acquire_descriptor();
        for (std::size_t i = 0; i < each; ++i) {
            if (!wait_for_seat(d, GetParam())) continue;
            if (sitting.fetch_add(1) >= most) too_many.fetch_add(1);
            std::this_thread::yield();  // so that others come meanwhile
            sitting.fetch_sub(1);
            vacate_seat(d);
            got.fetch_add(1);
        }
        release_descriptor(d);
    });
    EXPECT_EQ(got, 32 * each);
    EXPECT_EQ(too_many, 0);
}

// Half of them give up after some time, called or not. The others have to find every seat that is left.
TEST_P(seats, are_not_lost_with_who_gives_up) {
    const support::watchdog dog{"seats"};
    const std::size_t each = rounds(400);
    std::atomic<std::uint64_t> got{0};
    crew(32, [&](unsigned me) {
        descriptor& d = acquire_descriptor();
        support::random dice{me};
        for (std::size_t i = 0; i < each; ++i) {
            std::optional<base::deadline> until;
            if (me % 2 == 0) until = base::now() + std::chrono::microseconds{dice.below(100)};
            if (wait_for_seat(d, GetParam(), until)) {
                std::this_thread::yield();
                vacate_seat(d);
                if (!until) got.fetch_add(1);
            } else {
                EXPECT_TRUE(until && base::now() >= *until);
                EXPECT_EQ(d.seat, 0u);
            }
        }
        release_descriptor(d);
    });
    EXPECT_EQ(got, 16 * each);
    descriptor& d = acquire_descriptor();
    EXPECT_TRUE(take_seat(d, GetParam())) << "somebody who gave up still has one";
    vacate_seat(d);
    release_descriptor(d);
}

INSTANTIATE_TEST_SUITE_P(of, seats, testing::Values(status::irrevocable, status::visible),
                         [](const auto& kind) { return kind.param == status::visible ? "visible" : "irrevocable"; });

}  // namespace
}  // namespace tutti::core
