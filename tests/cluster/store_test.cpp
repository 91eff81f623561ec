// The objects of one node, message by message, where the order of messages matters.
#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "cluster/directory/store.hpp"

namespace {

using namespace tutti::cluster;

/// Node 0 of two, a reader of time 0 that keeps everything, and an object that is at home there.
struct store_test : ::testing::Test {
    static object_id some_object() {
        for (std::uint64_t i = 0;; ++i) {
            if (home_of({1, i}, 2) == 0) return {1, i};
        }
    }
    [[nodiscard]] tutti::wire::object_view look(std::uint64_t at = tutti::wire::newest) {
        tutti::wire::object_view view;
        objects.look(id, view, at);
        return view;
    }

    logical_clock clock;
    snapshots readers{0, 2, clock};
    const std::uint64_t reader = readers.enter();
    store objects{0, 2, clock, readers};
    const object_id id = some_object();
    const transaction_name other{.node = 1, .slot = 0, .sequence = 1};
};

// S8: who passes a reservation, and who gets it.
TEST_F(store_test, reservations_give_way_to_those_that_go_first) {
    using tutti::wire::obstacle;
    using tutti::wire::whereabouts;
    const auto reserve = [this](std::uint16_t slot, std::int64_t rank, std::uint64_t age, bool firm = false) {
        tutti::wire::object_view view;
        const bool fresh =
            objects.reserve(id, {.who = {1, slot, 1}, .as = {rank, age}, .firm = firm, .ids = {}}, true, view);
        EXPECT_EQ(view.where, whereabouts::here);
        return fresh;
    };
    const auto lock = [this](std::uint16_t slot, std::int64_t rank, std::uint64_t age) {
        const transaction_name who{1, slot, 1};
        const obstacle why = objects.lock_to_write(id, 0, who, {rank, age});
        if (why == obstacle::none) objects.unlock(id, who);
        return why;
    };
    EXPECT_TRUE(reserve(1, 0, 5));
    EXPECT_FALSE(reserve(1, 0, 5)) << "it was the thread's";
    EXPECT_EQ(lock(1, 0, 5), obstacle::none) << "its own";
    EXPECT_EQ(lock(2, 0, 5), obstacle::none) << "of the same execution";
    EXPECT_EQ(lock(2, 0, 0), obstacle::outranked) << "no age is younger than any";
    EXPECT_EQ(lock(2, 0, 6), obstacle::outranked) << "younger";
    EXPECT_EQ(lock(2, -1, 4), obstacle::outranked) << "a lower rank";
    EXPECT_EQ(objects.count().outranked, 3u);
    EXPECT_EQ(objects.count().given_way, 0u);
    EXPECT_EQ(lock(2, 0, 4), obstacle::none) << "older";
    EXPECT_EQ(lock(2, 1, 0), obstacle::none) << "a higher rank";
    EXPECT_EQ(objects.count().given_way, 2u);
    EXPECT_FALSE(reserve(2, 0, 6)) << "it just looks";
    EXPECT_TRUE(reserve(2, 0, 4)) << "it takes over";
    EXPECT_EQ(lock(1, 0, 5), obstacle::outranked);
    objects.end_reservation(id, 1u << 16 | 1);
    EXPECT_EQ(lock(1, 0, 5), obstacle::outranked) << "the release of one who has lost it";
    EXPECT_TRUE(reserve(3, 0, 0, true)) << "a firm one takes over from all";
    EXPECT_EQ(lock(2, 9, 1), obstacle::outranked);
    EXPECT_FALSE(reserve(2, 9, 1));
    objects.end_reservation(id, 1u << 16 | 3);
    EXPECT_EQ(lock(2, 0, 0), obstacle::none);
}

TEST_F(store_test, objects_and_old_values_are_counted) {
    const auto expect = [this](std::uint64_t there, std::uint64_t entries, std::uint64_t old, const char* when) {
        const store::figures f = objects.count();
        EXPECT_EQ(f.objects, there) << when;
        EXPECT_EQ(f.entries, entries) << when;
        EXPECT_EQ(f.old_values, old) << when;
        EXPECT_EQ(f.old_bytes == 0, old == 0) << when;
    };
    const auto write = [this](std::uint64_t version, tutti::wire::action what) {
        ASSERT_EQ(objects.lock_to_write(id, version - 1, other), tutti::wire::obstacle::none);
        objects.settle(id, what, "bytes", version, other);
    };
    expect(0, 0, 0, "at first");
    write(1, tutti::wire::action::put);
    expect(1, 1, 1, "published: that it did not exist is old");
    write(2, tutti::wire::action::put);
    expect(1, 1, 2, "overwritten");
    write(3, tutti::wire::action::erase);
    expect(0, 1, 3, "erased: a trace is left");
    write(4, tutti::wire::action::put);
    write(5, tutti::wire::action::leave);
    expect(0, 1, 5, "moved away");
    objects.install(id, true, "back", 9, 1);
    expect(1, 1, 5, "here again");
    objects.point({7, 7}, 1, 1);
    expect(1, 2, 5, "a pointer to another");
    readers.leave(reader);
    readers.hear(1, 9);
    clock.raise_to(9);
    ASSERT_EQ(objects.lock_to_write(id, 9, other), tutti::wire::obstacle::none);
    objects.settle(id, tutti::wire::action::put, "bytes", 10, other);
    EXPECT_LE(objects.count().old_values, 1u) << "nobody asks for them any more";
}

// Catches a late decision that takes the object away for good: nobody would have it then.
TEST_F(store_test, an_object_that_is_back_before_its_leave_stays) {
    clock.raise_to(3);
    readers.hear(1, 0);
    ASSERT_EQ(objects.lock_to_write(id, 0, other), tutti::wire::obstacle::none);
    objects.install(id, true, "new", 9, 1);
    EXPECT_EQ(look(5).where, tutti::wire::whereabouts::busy) << "whether version 5 came here or there is not known yet";
    objects.settle(id, tutti::wire::action::leave, {}, 7, other);
    EXPECT_EQ(look().where, tutti::wire::whereabouts::here);
    EXPECT_EQ(look().version, 9u);
    EXPECT_TRUE(objects.is_current(id, 9));
    EXPECT_EQ(look(6).version, 0u);
    EXPECT_EQ(look(6).where, tutti::wire::whereabouts::here);
    EXPECT_EQ(look(7).where, tutti::wire::whereabouts::elsewhere);
    EXPECT_EQ(look(7).owner, 1u);
}

TEST_F(store_test, old_versions_are_kept_for_readers_and_no_longer) {
    for (std::uint64_t version = 1; version <= 3; ++version) {
        ASSERT_EQ(objects.lock_to_write(id, version - 1, other), tutti::wire::obstacle::none);
        objects.settle(id, tutti::wire::action::put, std::to_string(version), version, other);
    }
    EXPECT_FALSE(look(0).exists);
    EXPECT_EQ(look(1).bytes, "1");
    EXPECT_EQ(look(2).bytes, "2");
    EXPECT_EQ(look(3).bytes, "3");
    readers.leave(reader);
    readers.hear(1, 3);
    ASSERT_EQ(objects.lock_to_write(id, 3, other), tutti::wire::obstacle::none);
    objects.settle(id, tutti::wire::action::put, "4", 4, other);
    ASSERT_EQ(objects.lock_to_write(id, 4, other), tutti::wire::obstacle::none);
    objects.settle(id, tutti::wire::action::put, "5", 5, other);
    EXPECT_EQ(look(2).where, tutti::wire::whereabouts::too_old);
    EXPECT_EQ(look(4).bytes, "4");
}

// A node that says nothing must not make the others keep everything.
TEST_F(store_test, old_versions_of_one_object_are_few_whoever_asks) {
    for (std::uint64_t version = 1; version <= 100'000; ++version) {
        ASSERT_EQ(objects.lock_to_write(id, version - 1, other), tutti::wire::obstacle::none);
        objects.settle(id, tutti::wire::action::put, "x", version, other);
    }
    EXPECT_EQ(look(0).where, tutti::wire::whereabouts::too_old);
    EXPECT_EQ(look(99'990).version, 99'990u);
}

// Whatever was large among them.
TEST_F(store_test, old_versions_of_one_object_are_few_where_large_and_small_ones_alternate) {
    for (std::uint64_t version = 1; version <= 200; ++version) {
        ASSERT_EQ(objects.lock_to_write(id, version - 1, other), tutti::wire::obstacle::none);
        objects.settle(id, tutti::wire::action::put, std::string(version % 2 << 20, 'x'), version, other);
    }
    EXPECT_EQ(look(100).where, tutti::wire::whereabouts::too_old);
    EXPECT_EQ(look(198).version, 198u);
}

/// Keeps what it is told.
struct recorder final : audience {
    void changed(const object_id& of, std::span<const node_number> watchers) override {
        for (const node_number n : watchers) told.emplace_back(of, n);
    }
    std::vector<std::pair<object_id, node_number>> told;
};

TEST_F(store_test, who_watches_is_told_once_of_the_next_change) {
    recorder all;
    objects.tell(all);
    EXPECT_FALSE(objects.watch(id, 1, 1)) << "it has another version";
    EXPECT_TRUE(objects.watch(id, 0, 1));
    EXPECT_TRUE(objects.watch(id, 0, 1));
    EXPECT_TRUE(objects.watch(id, 0, 0));
    ASSERT_EQ(objects.lock_to_write(id, 0, other), tutti::wire::obstacle::none);
    EXPECT_TRUE(objects.watch(id, 0, 1)) << "whoever holds it locked may not commit";
    objects.unlock(id, other);
    EXPECT_TRUE(all.told.empty());
    for (const std::uint64_t version : {1u, 2u}) {
        ASSERT_EQ(objects.lock_to_write(id, version - 1, other), tutti::wire::obstacle::none);
        objects.settle(id, tutti::wire::action::put, "x", version, other);
    }
    EXPECT_EQ(all.told, (std::vector<std::pair<object_id, node_number>>{{id, 1}, {id, 0}}));
}

// Catches a watcher that is forgotten with the object's departure, whose decision comes after its return.
TEST_F(store_test, who_watches_an_object_that_leaves_and_is_back_is_told) {
    recorder all;
    objects.tell(all);
    ASSERT_EQ(objects.lock_to_write(id, 0, other), tutti::wire::obstacle::none);
    EXPECT_TRUE(objects.watch(id, 0, 0));
    objects.install(id, true, "new", 9, 1);
    EXPECT_EQ(all.told.size(), 1u);
}

TEST_F(store_test, nobody_sleeps_over_what_a_node_that_has_gone_holds_locked) {
    ASSERT_EQ(objects.lock_to_write(id, 0, other), tutti::wire::obstacle::none);
    objects.lose(1);
    EXPECT_FALSE(objects.watch(id, 0, 0));
}

// Catches watchers without a bound, and those that are forgotten in silence to keep one.
TEST_F(store_test, more_watchers_than_there_is_room_for_are_told_to_look) {
    recorder all;
    objects.tell(all);
    std::vector<object_id> watched;
    for (std::uint64_t i = 0; watched.size() < 100'000; ++i) {
        const object_id next{2, i};
        if (home_of(next, 2) != 0) continue;
        watched.push_back(next);
        ASSERT_TRUE(objects.watch(next, 0, 1));
    }
    EXPECT_GT(all.told.size(), 30'000u);
    for (const object_id& o : watched) {
        ASSERT_EQ(objects.lock_to_write(o, 0, other), tutti::wire::obstacle::none);
        objects.settle(o, tutti::wire::action::put, "x", 1, other);
    }
    ASSERT_EQ(all.told.size(), watched.size());
    std::ranges::sort(all.told, {}, [](const auto& t) { return t.first.low; });
    for (std::size_t i = 0; i < watched.size(); ++i) ASSERT_EQ(all.told[i].first, watched[i]);
}

}  // namespace
