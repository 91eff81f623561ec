// Waiting for a slot. Catches a slot that is freed without a call to a waiter. Catches a waiter that stops waiting and
// does not pass on its call, and a waiter that is passed over forever. With each of these faults, a test hangs.
#include "core/tokens/slots.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <vector>

#include "core/lifecycle/registry.hpp"
#include "support/effort.hpp"
#include "support/random.hpp"
#include "support/watchdog.hpp"
#include "support/worker_group.hpp"

namespace tutti::core {
namespace {

using support::rounds;
using support::run_threads;

class slots_by_mode_test : public testing::TestWithParam<status> {};

TEST_P(slots_by_mode_test, reach_every_waiter) {
    const support::watchdog dog{"slots"};
    const std::size_t each = rounds(400);
    std::atomic<std::uint64_t> got{0};
    std::atomic<int> sitting{0}, too_many{0};
    const int most = GetParam() == status::irrevocable ? 1 : static_cast<int>(slot_count) - 1;
    run_threads(32, [&](unsigned) {
        descriptor& d = acquire_descriptor();
        for (std::size_t i = 0; i < each; ++i) {
            if (!wait_for_slot(d, GetParam())) continue;
            if (sitting.fetch_add(1) >= most) too_many.fetch_add(1);
            std::this_thread::yield();  // so that other waiters arrive meanwhile
            sitting.fetch_sub(1);
            release_slot(d);
            got.fetch_add(1);
        }
        release_descriptor(d);
    });
    EXPECT_EQ(got, 32 * each);
    EXPECT_EQ(too_many, 0);
}

// Half of the threads stop waiting after some time, even if they have been called. The other threads must find every
// remaining slot.
TEST_P(slots_by_mode_test, survive_a_waiter_that_stops_waiting) {
    const support::watchdog dog{"slots"};
    const std::size_t each = rounds(400);
    std::atomic<std::uint64_t> got{0};
    run_threads(32, [&](unsigned me) {
        descriptor& d = acquire_descriptor();
        support::random dice{me};
        for (std::size_t i = 0; i < each; ++i) {
            std::optional<base::deadline> until;
            if (me % 2 == 0) until = base::now() + std::chrono::microseconds{dice.below(100)};
            if (wait_for_slot(d, GetParam(), until)) {
                std::this_thread::yield();
                release_slot(d);
                if (!until) got.fetch_add(1);
            } else {
                EXPECT_TRUE(until && base::now() >= *until);
                EXPECT_EQ(d.slot, 0u);
            }
        }
        release_descriptor(d);
    });
    EXPECT_EQ(got, 16 * each);
    descriptor& d = acquire_descriptor();
    EXPECT_TRUE(take_slot(d, GetParam())) << "a waiter that stopped waiting still has one";
    release_slot(d);
    release_descriptor(d);
}

/// Takes all slots of `kind`, with descriptors that belong to no thread.
struct full_house {
    explicit full_house(status kind) {
        for (;;) {
            descriptor& d = acquire_descriptor();
            if (take_slot(d, kind)) {
                sitting.push_back(&d);
                continue;
            }
            release_descriptor(d);
            return;
        }
    }
    void leave_one() {
        release_slot(*sitting.back());
        release_descriptor(*sitting.back());
        sitting.pop_back();
    }
    std::vector<descriptor*> sitting;
};

// Each waiter keeps its slot until all waiters have one, so a slot that is freed later cannot repair a lost wake-up.
// Catches a waiter that takes a slot and leaves the other waiters asleep, although more slots are free.
TEST(slots_test, are_all_found_after_simultaneous_release) {
    const support::watchdog dog{"slots"};
    for (std::size_t i = 0; i < rounds(100); ++i) {
        full_house full{status::visible};
        const auto all = static_cast<unsigned>(full.sitting.size());
        std::atomic<unsigned> come{0}, found{0};
        run_threads(all + 1, [&](unsigned me) {
            if (me == all) {
                while (come != all) std::this_thread::yield();
                while (!full.sitting.empty()) full.leave_one();
                return;
            }
            descriptor& d = acquire_descriptor();
            ++come;
            ASSERT_TRUE(wait_for_slot(d, status::visible));
            ++found;
            while (found != all) std::this_thread::yield();
            release_slot(d);
            release_descriptor(d);
        });
    }
}

// The test frees one slot. A waiter that stops waiting at that time may have been called for this slot.
TEST(slots_test, pass_on_from_a_waiter_that_stops_waiting) {
    const support::watchdog dog{"slots"};
    support::random dice{3};
    for (std::size_t i = 0; i < rounds(1000); ++i) {
        full_house full{status::irrevocable};
        const std::chrono::microseconds limit{dice.below(200)};
        std::atomic<unsigned> come{0};
        run_threads(3, [&](unsigned me) {
            if (me == 2) {
                while (come != 2) std::this_thread::yield();
                const base::deadline then = base::now() + limit;
                while (base::now() < then) std::this_thread::yield();
                full.leave_one();
                return;
            }
            descriptor& d = acquire_descriptor();
            if (me == 1) {
                while (come == 0) std::this_thread::yield();
            }
            ++come;
            std::optional<base::deadline> until;
            if (me == 0) until = base::now() + limit;
            if (wait_for_slot(d, status::irrevocable, until)) release_slot(d);
            release_descriptor(d);
        });
    }
}

// The first waiter is passed over once. Catches a slot that is only made free, so that any other waiter may take it.
TEST_P(slots_by_mode_test, go_to_the_waiter_moved_forward) {
    const support::watchdog dog{"slots"};
    for (std::size_t i = 0; i < rounds(50); ++i) {
        full_house full{GetParam()};
        std::array<std::atomic<descriptor*>, 2> waiting{};
        std::atomic<int> order{0};
        std::array<int, 2> place{};
        run_threads(3, [&](unsigned me) {
            if (me == 2) {
                for (const auto& w : waiting) {
                    while (w == nullptr || !move_waiter_forward(*full.sitting.back(), *w)) std::this_thread::yield();
                }
                while (!full.sitting.empty()) full.leave_one();
                return;
            }
            descriptor& d = acquire_descriptor();
            waiting[me] = &d;
            EXPECT_TRUE(wait_for_slot(d, GetParam()));
            place[me] = ++order;
            release_slot(d);
            release_descriptor(d);
        });
        EXPECT_TRUE(place[1] == 1 || GetParam() == status::visible) << "other visible readers may come first";
    }
}

// Each thread moves another one forward. That other thread may be waiting, may be about to stop waiting, or neither.
TEST_P(slots_by_mode_test, survive_the_waiter_moved_forward) {
    const support::watchdog dog{"slots"};
    constexpr unsigned many = 24;
    const std::size_t each = rounds(400);
    std::array<std::atomic<descriptor*>, many> all{};
    std::atomic<std::uint64_t> got{0};
    run_threads(many, [&](unsigned me) {
        descriptor& d = acquire_descriptor();
        all[me] = &d;
        support::random dice{me};
        for (std::size_t i = 0; i < each; ++i) {
            std::optional<base::deadline> until;
            if (me % 2 == 0) until = base::now() + std::chrono::microseconds{dice.below(100)};
            if (!wait_for_slot(d, GetParam(), until)) continue;
            std::this_thread::yield();
            if (const descriptor* const other = all[dice.below(many)].load()) (void)move_waiter_forward(d, *other);
            release_slot(d);
            if (!until) got.fetch_add(1);
        }
        release_descriptor(d);
    });
    EXPECT_EQ(got, many / 2 * each);
}

INSTANTIATE_TEST_SUITE_P(each_kind, slots_by_mode_test, testing::Values(status::irrevocable, status::visible),
                         [](const auto& kind) { return kind.param == status::visible ? "visible" : "irrevocable"; });

}  // namespace
}  // namespace tutti::core
