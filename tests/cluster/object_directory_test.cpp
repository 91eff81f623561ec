// The objects of one node, message by message, for cases in which the order of messages matters.
#include <algorithm>
#include <chrono>
#include <latch>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "cluster/directory/object_directory.hpp"
#include "cluster/protocol/rejoin_protocol.hpp"
#include "support/watchdog.hpp"
#include "wire/bytes.hpp"

namespace {

using namespace tutti::cluster;

/// The directory of node 0 of two nodes, and an object that is at home on node 0. A reader of time 0 makes the
/// directory keep every version.
struct object_directory_test : ::testing::Test {
    static object_id some_object() {
        for (std::uint64_t i = 0;; ++i) {
            if (home_of({1, i}, 2) == 0) return {1, i};
        }
    }
    [[nodiscard]] tutti::wire::object_view read_object(std::uint64_t at = tutti::wire::newest) {
        tutti::wire::object_view view;
        objects.read(id, view, at);
        return view;
    }

    logical_clock clock;
    snapshot_tracker readers{0, 2, clock};
    const std::uint64_t reader = readers.enter();
    object_directory objects{0, 2, clock, readers};
    const object_id id = some_object();
    const transaction_name other{.node = 1, .slot = 0, .sequence = 1};
};

// ---- DIR10: reads without a lock

struct seqlock_reads_test : object_directory_test {
    /// Reads the object, and sets `found` as a hint for later reads.
    void find() {
        tutti::wire::object_view view;
        objects.read(id, view, tutti::wire::newest, found);
    }
    void write(std::uint64_t from, std::uint64_t version, const std::string& bytes) {
        ASSERT_EQ(objects.lock_to_write(id, from, other), tutti::wire::lock_refusal::none);
        objects.apply_decision(id, tutti::wire::action::put, std::string{bytes}, version, other);
    }
    [[nodiscard]] std::string seen() {
        tutti::wire::object_view view;
        if (!objects.reread(found, id, view)) return "not shown";
        EXPECT_EQ(view.where, tutti::wire::lookup_result::here);
        EXPECT_EQ(view.owner, 0);
        EXPECT_EQ(view.valid_at, clock.now());
        return (view.exists ? view.bytes : "missing") + "@" + std::to_string(view.version);
    }
    object_directory::lookup_hint found;
};

TEST_F(seqlock_reads_test, read_current_unlocked_objects) {
    EXPECT_EQ(seen(), "not shown") << "no read has found it";
    write(0, 1, "first");
    find();
    EXPECT_EQ(seen(), "first@1");
    ASSERT_EQ(objects.lock_to_read(id, 1, other), tutti::wire::lock_refusal::none);
    EXPECT_EQ(seen(), "first@1") << "read locks exclude no reader";
    objects.unlock(id, other);
    ASSERT_EQ(objects.lock_to_write(id, 1, other), tutti::wire::lock_refusal::none);
    EXPECT_EQ(seen(), "not shown");
    objects.unlock(id, other);
    EXPECT_EQ(seen(), "first@1");
    write(1, 2, "longer than a word, and no multiple of one");
    EXPECT_EQ(seen(), "longer than a word, and no multiple of one@2");
    ASSERT_EQ(objects.lock_to_write(id, 2, other), tutti::wire::lock_refusal::none);
    find();
    EXPECT_EQ(seen(), "not shown") << "found while it is locked";
    objects.apply_decision(id, tutti::wire::action::erase, {}, 3, other);
    EXPECT_EQ(seen(), "missing@3");
}

TEST_F(seqlock_reads_test, exclude_large_and_remote_objects) {
    const std::string largest_value(seqlock_object::max_size, 'm');
    write(0, 1, largest_value);
    find();
    EXPECT_EQ(seen(), largest_value + "@1");
    write(1, 2, largest_value + "!");
    EXPECT_EQ(seen(), "not shown");
    write(2, 3, "small");
    EXPECT_EQ(seen(), "small@3");
    ASSERT_EQ(objects.lock_to_write(id, 3, other), tutti::wire::lock_refusal::none);
    objects.apply_decision(id, tutti::wire::action::leave, {}, 4, other);
    EXPECT_EQ(seen(), "not shown");
    find();
    EXPECT_EQ(seen(), "not shown");
    objects.install(id, true, "back", 5, 1);
    EXPECT_EQ(seen(), "back@5");
}

// DIR8: the order in which transactions get a reservation.
TEST_F(object_directory_test, passes_reservations_by_precedence) {
    using tutti::wire::lock_refusal;
    using tutti::wire::lookup_result;
    const auto reserve = [this](std::uint16_t slot, std::int64_t rank, std::uint64_t age, bool irrevocable = false) {
        tutti::wire::object_view view;
        const bool fresh = objects.reserve(
            id, {.who = {1, slot, 1}, .as = {rank, age}, .irrevocable = irrevocable, .ids = {}}, true, view);
        EXPECT_EQ(view.where, lookup_result::here);
        return fresh;
    };
    const auto lock = [this](std::uint16_t slot, std::int64_t rank, std::uint64_t age) {
        const transaction_name who{1, slot, 1};
        const lock_refusal why = objects.lock_to_write(id, 0, who, {rank, age});
        if (why == lock_refusal::none) objects.unlock(id, who);
        return why;
    };
    EXPECT_TRUE(reserve(1, 0, 5));
    EXPECT_FALSE(reserve(1, 0, 5)) << "it was the thread's";
    EXPECT_EQ(lock(1, 0, 5), lock_refusal::none) << "its own";
    EXPECT_EQ(lock(2, 0, 5), lock_refusal::none) << "of the same execution";
    EXPECT_EQ(lock(2, 0, 0), lock_refusal::outranked) << "no age is younger than any";
    EXPECT_EQ(lock(2, 0, 6), lock_refusal::outranked) << "younger";
    EXPECT_EQ(lock(2, -1, 4), lock_refusal::outranked) << "a lower rank";
    EXPECT_EQ(objects.count().outranked, 3u);
    EXPECT_EQ(objects.count().reservations_lost, 0u);
    EXPECT_EQ(lock(2, 0, 4), lock_refusal::none) << "older";
    EXPECT_EQ(lock(2, 1, 0), lock_refusal::none) << "a higher rank";
    EXPECT_EQ(objects.count().reservations_lost, 2u);
    EXPECT_FALSE(reserve(2, 0, 6)) << "it only reads";
    EXPECT_TRUE(reserve(2, 0, 4)) << "it takes over";
    EXPECT_EQ(lock(1, 0, 5), lock_refusal::outranked);
    objects.end_reservation(id, 1u << 16 | 1);
    EXPECT_EQ(lock(1, 0, 5), lock_refusal::outranked) << "the release of one who has lost it";
    EXPECT_TRUE(reserve(3, 0, 0, true)) << "an irrevocable one takes over from all";
    EXPECT_EQ(lock(2, 9, 1), lock_refusal::outranked);
    EXPECT_FALSE(reserve(2, 9, 1));
    objects.end_reservation(id, 1u << 16 | 3);
    EXPECT_EQ(lock(2, 0, 0), lock_refusal::none);
}

TEST_F(object_directory_test, counts_objects_and_old_versions) {
    const auto expect = [this](std::uint64_t there, std::uint64_t entries, std::uint64_t old, const char* when) {
        const object_directory::statistics f = objects.count();
        EXPECT_EQ(f.objects, there) << when;
        EXPECT_EQ(f.directory_entries, entries) << when;
        EXPECT_EQ(f.old_versions, old) << when;
        EXPECT_EQ(f.old_version_bytes == 0, old == 0) << when;
    };
    const auto write = [this](std::uint64_t version, tutti::wire::action what) {
        ASSERT_EQ(objects.lock_to_write(id, version - 1, other), tutti::wire::lock_refusal::none);
        objects.apply_decision(id, what, "bytes", version, other);
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
    object_id another{7, 7};
    while (home_of(another, 2) == 0) ++another.low;
    objects.set_pointer(another, 1, 1);
    expect(1, 2, 5, "a pointer to another");
    readers.leave(reader);
    readers.merge(1, 9);
    clock.raise_to(9);
    ASSERT_EQ(objects.lock_to_write(id, 9, other), tutti::wire::lock_refusal::none);
    objects.apply_decision(id, tutti::wire::action::put, "bytes", 10, other);
    EXPECT_LE(objects.count().old_versions, 1u) << "no reader asks for them any more";
}

// Catches a late decision that sends the object away for good, so that no node has it.
TEST_F(object_directory_test, keeps_an_object_that_returns_early) {
    clock.raise_to(3);
    readers.merge(1, 0);
    ASSERT_EQ(objects.lock_to_write(id, 0, other), tutti::wire::lock_refusal::none);
    objects.install(id, true, "new", 9, 1);
    EXPECT_EQ(read_object(5).where, tutti::wire::lookup_result::busy)
        << "whether version 5 arrived here or there is not known yet";
    objects.apply_decision(id, tutti::wire::action::leave, {}, 7, other);
    EXPECT_EQ(read_object().where, tutti::wire::lookup_result::here);
    EXPECT_EQ(read_object().version, 9u);
    EXPECT_TRUE(objects.is_current(id, 9));
    EXPECT_EQ(read_object(6).version, 0u);
    EXPECT_EQ(read_object(6).where, tutti::wire::lookup_result::here);
    EXPECT_EQ(read_object(7).where, tutti::wire::lookup_result::elsewhere);
    EXPECT_EQ(read_object(7).owner, 1u);
}

TEST_F(object_directory_test, keeps_old_versions_only_for_readers) {
    for (std::uint64_t version = 1; version <= 3; ++version) {
        ASSERT_EQ(objects.lock_to_write(id, version - 1, other), tutti::wire::lock_refusal::none);
        objects.apply_decision(id, tutti::wire::action::put, std::to_string(version), version, other);
    }
    EXPECT_FALSE(read_object(0).exists);
    EXPECT_EQ(read_object(1).bytes, "1");
    EXPECT_EQ(read_object(2).bytes, "2");
    EXPECT_EQ(read_object(3).bytes, "3");
    readers.leave(reader);
    readers.merge(1, 3);
    ASSERT_EQ(objects.lock_to_write(id, 3, other), tutti::wire::lock_refusal::none);
    objects.apply_decision(id, tutti::wire::action::put, "4", 4, other);
    ASSERT_EQ(objects.lock_to_write(id, 4, other), tutti::wire::lock_refusal::none);
    objects.apply_decision(id, tutti::wire::action::put, "5", 5, other);
    EXPECT_EQ(read_object(2).where, tutti::wire::lookup_result::too_old);
    EXPECT_EQ(read_object(4).bytes, "4");
}

// A silent node must not make the others keep every version.
TEST_F(object_directory_test, bounds_old_versions_of_an_object) {
    for (std::uint64_t version = 1; version <= 100'000; ++version) {
        ASSERT_EQ(objects.lock_to_write(id, version - 1, other), tutti::wire::lock_refusal::none);
        objects.apply_decision(id, tutti::wire::action::put, "x", version, other);
    }
    EXPECT_EQ(read_object(0).where, tutti::wire::lookup_result::too_old);
    EXPECT_EQ(read_object(99'990).version, 99'990u);
}

// The bound holds even if large and small versions alternate.
TEST_F(object_directory_test, bounds_old_versions_of_varying_size) {
    for (std::uint64_t version = 1; version <= 200; ++version) {
        ASSERT_EQ(objects.lock_to_write(id, version - 1, other), tutti::wire::lock_refusal::none);
        objects.apply_decision(id, tutti::wire::action::put, std::string(version % 2 << 20, 'x'), version, other);
    }
    EXPECT_EQ(read_object(100).where, tutti::wire::lookup_result::too_old);
    EXPECT_EQ(read_object(198).version, 198u);
}

/// Records the messages that it receives.
struct recorder final : change_listener {
    void on_change(const object_id& of, std::span<const node_number> watchers) override {
        for (const node_number n : watchers) notified.emplace_back(of, n);
    }
    bool report_eviction(const object_id& of, node_number owner, std::uint64_t version) noexcept override {
        forgotten.push_back({of, owner, version});
        return true;
    }
    void invalidate_copy(const object_id&, node_number, std::uint64_t) noexcept override {}
    std::vector<tutti::wire::owner_update> forgotten;
    std::vector<std::pair<object_id, node_number>> notified;
};

// ---- DIR9

struct entry_eviction_test : object_directory_test {
    entry_eviction_test() {
        objects.set_listener(all);
        objects.limit({.pointers = 0, .erased = 0});
        objects_of_1.set_listener(all);
        objects_of_1.limit({.pointers = 0, .erased = 0});
    }
    /// Declares that no reader asks for versions before `version`.
    void pass(std::uint64_t version) {
        clock.raise_to(version);
        for (snapshot_tracker* s : {&readers, &readers_of_1}) {
            s->merge(0, version);
            s->merge(1, version);
        }
    }
    void leave() {
        if (std::exchange(reads, false)) readers.leave(reader);
    }
    void write(std::uint64_t from, std::uint64_t version, tutti::wire::action what) {
        ASSERT_EQ(objects.lock_to_write(id, from, other), tutti::wire::lock_refusal::none);
        objects.apply_decision(id, what, "bytes", version, other);
    }
    /// Uses the object's shard, so that the directory cleans up that shard.
    void stir(object_directory& s) const { s.unlock(id, {.node = 1, .slot = 9, .sequence = 9}); }

    recorder all;
    bool reads = true;
    snapshot_tracker readers_of_1{1, 2, clock};
    object_directory objects_of_1{1, 2, clock, readers_of_1};
};

// Catches an entry that stays for each id that was ever requested.
TEST_F(entry_eviction_test, keeps_nothing_of_missing_objects) {
    tutti::wire::object_view view;
    for (std::uint64_t i = 0; i < 1000; ++i) {
        const object_id absent{3, i};
        objects.read(absent, view);
        if (objects.lock_to_read(absent, view.version, other) == tutti::wire::lock_refusal::none)
            objects.unlock(absent, other);
        if (objects.lock_to_write(absent, view.version, other) == tutti::wire::lock_refusal::none)
            objects.unlock(absent, other);
        EXPECT_EQ(objects.lock_to_read(absent, 7, other), tutti::wire::lock_refusal::stale);
        const transaction_name holder{.node = 1, .slot = 1, .sequence = 1};
        if (objects.reserve(absent, {.who = holder, .ids = {}}, true, view))
            objects.end_reservation(absent, holder.thread());
    }
    EXPECT_EQ(objects.count().directory_entries, 0u);
}

// Catches an absent object whose version is older than its erasure. Covers readers that saw the object, and readers
// that did not.
TEST_F(entry_eviction_test, keeps_the_version_of_evicted_erased_objects) {
    write(0, 1, tutti::wire::action::put);
    write(1, 2, tutti::wire::action::erase);
    EXPECT_EQ(objects.count().directory_entries, 1u) << "somebody may ask for what it was";
    leave();
    pass(2);
    write(2, 3, tutti::wire::action::put);
    write(3, 4, tutti::wire::action::erase);
    EXPECT_EQ(objects.count().directory_entries, 1u);
    pass(4);
    objects.unlock(id, other);
    EXPECT_TRUE(objects.is_current(id, 4));
    stir(objects);
    write(4, 5, tutti::wire::action::erase);  // makes the directory forget the earlier values
    pass(5);
    stir(objects);
    stir(objects);
    EXPECT_LE(objects.count().directory_entries, 1u);
    EXPECT_GE(read_object().version, 4u);
    EXPECT_FALSE(objects.is_current(id, 0));
}

TEST_F(entry_eviction_test, keeps_locked_and_reserved_entries) {
    ASSERT_EQ(objects.lock_to_read(id, 0, other), tutti::wire::lock_refusal::none);
    stir(objects);
    const transaction_name another{.node = 1, .slot = 1, .sequence = 1};
    EXPECT_NE(objects.lock_to_write(id, 0, another), tutti::wire::lock_refusal::none);
    objects.unlock(id, other);
    EXPECT_EQ(objects.count().directory_entries, 0u);
    ASSERT_EQ(objects.lock_to_write(id, 0, another), tutti::wire::lock_refusal::none);
    stir(objects);
    EXPECT_NE(objects.lock_to_read(id, 0, other), tutti::wire::lock_refusal::none);
}

// Catches a read that mistakes the new object of a place for the object that was there before.
TEST_F(entry_eviction_test, does_not_reread_evicted_entries) {
    leave();
    write(0, 1, tutti::wire::action::put);
    object_directory::lookup_hint found;
    tutti::wire::object_view view;
    objects.read(id, view, tutti::wire::newest, found);
    EXPECT_TRUE(objects.reread(found, id, view));
    write(1, 2, tutti::wire::action::erase);
    pass(2);
    stir(objects);
    stir(objects);
    ASSERT_EQ(objects.count().directory_entries, 0u);
    EXPECT_FALSE(objects.reread(found, id, view));
    // Objects of every shard take the free places.
    for (std::uint64_t i = 0; i < 1000; ++i) {
        const object_id next{2, i};
        if (home_of(next, 2) != 0) continue;
        objects.read(next, view);
        ASSERT_EQ(objects.lock_to_write(next, view.version, other), tutti::wire::lock_refusal::none);
        objects.apply_decision(next, tutti::wire::action::put, "another", 3, other);
        object_directory::lookup_hint its;
        objects.read(next, view, tutti::wire::newest, its);
        EXPECT_TRUE(objects.reread(its, next, view));
    }
    EXPECT_FALSE(objects.reread(found, id, view));
}

// Node 1 of three gives away an object whose home is node 0. Catches a pointer that node 1 keeps without a use, and a
// pointer that node 1 drops although a node needs it.
TEST_F(entry_eviction_test, reports_dropped_pointers_to_the_home) {
    leave();
    snapshot_tracker readers_here{1, 3, clock};
    object_directory here{1, 3, clock, readers_here};
    here.set_listener(all);
    here.limit({.pointers = 0, .erased = 0});
    const auto pass_here = [&](std::uint64_t version) {
        clock.raise_to(version);
        for (node_number n = 0; n < 3; ++n) readers_here.merge(n, version);
    };
    object_id moved{4, 0};
    while (home_of(moved, 3) != 0) ++moved.low;
    const auto move_to = [&](node_number to, std::uint64_t version) {
        const transaction_name mover{.node = to, .slot = 0, .sequence = version};
        here.install(moved, true, "here", version - 1, 0);
        pass_here(version);
        ASSERT_EQ(here.lock_to_write(moved, version - 1, mover), tutti::wire::lock_refusal::none);
        here.apply_decision(moved, tutti::wire::action::leave, {}, version, mover);
        EXPECT_EQ(here.count().directory_entries, 0u);
        EXPECT_EQ(here.owner_of(moved), 0) << "the home is asked";
    };
    move_to(2, 4);
    ASSERT_EQ(all.forgotten.size(), 1u);
    EXPECT_EQ(all.forgotten[0].id, moved);
    EXPECT_EQ(all.forgotten[0].owner, 2);
    EXPECT_EQ(all.forgotten[0].version, 4u);
    move_to(0, 6);
    EXPECT_EQ(all.forgotten.size(), 1u) << "what is at home is known there";
    // A pointer that the node only learned of is dropped without a message.
    for (std::uint64_t i = 0; i < 1000; ++i) here.set_pointer({5, i}, 2, 6);
    EXPECT_EQ(all.forgotten.size(), 1u);
    EXPECT_EQ(here.count().directory_entries, 0u);
    // The home is lost, so the node keeps its pointers.
    here.on_node_lost(0);
    here.install(moved, true, "here", 7, 2);
    pass_here(8);
    ASSERT_EQ(here.lock_to_write(moved, 7, other), tutti::wire::lock_refusal::none);
    here.apply_decision(moved, tutti::wire::action::leave, {}, 8, {.node = 2, .slot = 0, .sequence = 1});
    EXPECT_EQ(here.count().directory_entries, 1u);
}

// A node is lost after a read has received an answer with a pointer, while the read waits for another answer. This node
// may have sent an ownership report without that pointer.
TEST_F(entry_eviction_test, ignores_answers_from_before_a_loss) {
    leave();
    snapshot_tracker readers_here{1, 3, clock};
    object_directory here{1, 3, clock, readers_here};
    object_id moved{4, 0};
    while (home_of(moved, 3) != 0) ++moved.low;
    const std::uint64_t before = here.losses();
    here.on_node_lost(0);
    here.set_answered_pointer(moved, 2, 4, false, before);
    EXPECT_EQ(here.owner_of(moved), 0);
    here.set_answered_pointer(moved, 2, 4, false, here.losses());
    EXPECT_EQ(here.owner_of(moved), 2);
}

// Catches an unbounded number of pointers beside the other entries. Catches a bound that does not depend on the number
// of the other entries.
TEST_F(entry_eviction_test, keeps_as_many_pointers_as_other_entries) {
    leave();
    std::uint64_t own = 0, others = 0;
    for (std::uint64_t i = 0; i < 10'000; ++i) {
        const bool is_home = home_of({5, i}, 2) == 1;
        if (is_home) objects_of_1.install({5, i}, true, "here", 4, 0);
        else objects_of_1.set_pointer({5, i}, 0, 4, true);
        ++(is_home ? own : others);
    }
    EXPECT_GT(others, 4000u);
    EXPECT_LE(objects_of_1.count().directory_entries, 2 * own + object_directory::shards);
    EXPECT_GE(objects_of_1.count().directory_entries, 3 * own / 2);
}

// Node 1 erases an object whose home is node 0, and later drops the entry. From then on, node 0 owns the object.
TEST_F(entry_eviction_test, sends_erased_entries_home) {
    leave();
    ASSERT_EQ(objects.lock_to_write(id, 0, other), tutti::wire::lock_refusal::none);
    objects.apply_decision(id, tutti::wire::action::leave, {}, 3, other);  // node 1 erases it
    objects_of_1.install(id, false, {}, 3, 0);
    ASSERT_TRUE(objects_of_1.watch(id, 3, 0));
    pass(3);
    stir(objects_of_1);
    EXPECT_TRUE(all.forgotten.empty()) << "a block sleeps over it";
    objects_of_1.install(id, false, {}, 4, 1);
    EXPECT_EQ(all.notified.size(), 1u);
    pass(4);
    for (int i = 0; i < 4; ++i) stir(objects_of_1);
    ASSERT_EQ(all.forgotten.size(), 1u);
    EXPECT_EQ(all.forgotten[0].owner, 0);
    EXPECT_EQ(objects_of_1.count().directory_entries, 0u);
    for (int i = 0; i < 2; ++i) {
        objects.adopt_erased(id, 4, 1);
        EXPECT_EQ(read_object().where, tutti::wire::lookup_result::here);
        EXPECT_FALSE(read_object().exists);
        EXPECT_EQ(read_object().version, 4u);
        EXPECT_EQ(objects.count().directory_entries, 0u);
    }
    // A late duplicate finds the object locked and published again.
    ASSERT_EQ(objects.lock_to_write(id, 4, other), tutti::wire::lock_refusal::none);
    objects.adopt_erased(id, 4, 1);
    EXPECT_EQ(read_object().where, tutti::wire::lookup_result::busy);
    objects.apply_decision(id, tutti::wire::action::put, "bytes", 5, other);
    objects.adopt_erased(id, 4, 1);
    EXPECT_TRUE(read_object().exists);
}

// The home is told that it owns the object again before it learns that the object has left. Catches a home that
// mistakes the first message for the second.
TEST_F(entry_eviction_test, handles_an_erased_entry_arriving_early) {
    ASSERT_EQ(objects.lock_to_write(id, 0, other), tutti::wire::lock_refusal::none);
    clock.raise_to(3);
    objects.adopt_erased(id, 3, 1);
    EXPECT_EQ(read_object().where, tutti::wire::lookup_result::here);
    objects.apply_decision(id, tutti::wire::action::leave, {}, 3, other);
    EXPECT_EQ(read_object().where, tutti::wire::lookup_result::here);
    EXPECT_EQ(read_object().version, 3u);
    EXPECT_EQ(read_object(2).version, 0u);
}

TEST_F(object_directory_test, notifies_watchers_once) {
    recorder all;
    objects.set_listener(all);
    EXPECT_FALSE(objects.watch(id, 1, 1)) << "it has another version";
    EXPECT_TRUE(objects.watch(id, 0, 1));
    EXPECT_TRUE(objects.watch(id, 0, 1));
    EXPECT_TRUE(objects.watch(id, 0, 0));
    ASSERT_EQ(objects.lock_to_write(id, 0, other), tutti::wire::lock_refusal::none);
    EXPECT_TRUE(objects.watch(id, 0, 1)) << "the holder of the lock may not commit";
    objects.unlock(id, other);
    EXPECT_TRUE(all.notified.empty());
    for (const std::uint64_t version : {1u, 2u}) {
        ASSERT_EQ(objects.lock_to_write(id, version - 1, other), tutti::wire::lock_refusal::none);
        objects.apply_decision(id, tutti::wire::action::put, "x", version, other);
    }
    EXPECT_EQ(all.notified, (std::vector<std::pair<object_id, node_number>>{{id, 1}, {id, 0}}));
}

// Catches a watcher that is forgotten when the object leaves, if the decision arrives after the object's return.
TEST_F(object_directory_test, notifies_watchers_of_returned_objects) {
    recorder all;
    objects.set_listener(all);
    ASSERT_EQ(objects.lock_to_write(id, 0, other), tutti::wire::lock_refusal::none);
    EXPECT_TRUE(objects.watch(id, 0, 0));
    objects.install(id, true, "new", 9, 1);
    EXPECT_EQ(all.notified.size(), 1u);
}

TEST_F(object_directory_test, wakes_watchers_of_objects_in_doubt) {
    ASSERT_EQ(objects.lock_to_write(id, 0, other), tutti::wire::lock_refusal::none);
    objects.on_node_lost(1);
    EXPECT_FALSE(objects.watch(id, 0, 0));
}

// Catches an unbounded number of watchers, and watchers that are dropped without a notification to enforce the bound.
TEST_F(object_directory_test, wakes_watchers_beyond_the_limit) {
    recorder all;
    objects.set_listener(all);
    std::vector<object_id> watched;
    for (std::uint64_t i = 0; watched.size() < 100'000; ++i) {
        const object_id next{2, i};
        if (home_of(next, 2) != 0) continue;
        watched.push_back(next);
        ASSERT_TRUE(objects.watch(next, 0, 1));
    }
    EXPECT_GT(all.notified.size(), 30'000u);
    for (const object_id& o : watched) {
        ASSERT_EQ(objects.lock_to_write(o, 0, other), tutti::wire::lock_refusal::none);
        objects.apply_decision(o, tutti::wire::action::put, "x", 1, other);
    }
    ASSERT_EQ(all.notified.size(), watched.size());
    std::ranges::sort(all.notified, {}, [](const auto& t) { return t.first.low; });
    for (std::size_t i = 0; i < watched.size(); ++i) ASSERT_EQ(all.notified[i].first, watched[i]);
}

// ---- a process that rejoins

struct rejoin_protocol_test : ::testing::Test {
    struct silent final : rejoin_transport {
        void send_one_way(node_number, tutti::wire::message_type kind, std::string body) override {
            if (kind != tutti::wire::message_type::ownership_report) return;
            EXPECT_TRUE(tutti::wire::decode(body, report));
        }
        std::uint64_t process_of(node_number) override { return 0; }
        tutti::wire::ownership_report report;
    };
    rejoin_protocol_test() { door.begin({true, false}); }
    template <class Message>
    void receive(tutti::wire::message_type kind, const Message& what) {
        EXPECT_TRUE(door.receive({.type = kind, .from = 0}, tutti::wire::encode(what)));
    }
    /// Starts a thread that waits to be admitted. If the code under test does not wake the thread, the watchdog ends
    /// the test. The thread most likely sleeps when the function returns.
    [[nodiscard]] std::jthread sleeper() {
        std::latch begins{1};
        std::jthread one{[&] {
            begins.count_down();
            static_cast<void>(door.wait(tutti::base::now() + std::chrono::hours{1}));
        }};
        begins.wait();
        std::this_thread::sleep_for(std::chrono::milliseconds{5});
        return one;
    }

    tutti::support::watchdog guard{"rejoin_protocol_test"};
    silent others;
    protocol_node here{1, 2, object_placement::home};
    rejoin_protocol door{here, others};
};

TEST_F(rejoin_protocol_test, wakes_when_all_have_admitted) {
    const std::jthread one = sleeper();
    receive(tutti::wire::message_type::ownership_report, tutti::wire::ownership_report{1, 1, 0, {}});
    EXPECT_FALSE(door.is_over());
    receive(tutti::wire::message_type::rejoin_ack, tutti::wire::rejoin_ack{.era = 1, .serves = true});
    EXPECT_TRUE(door.is_over());
}

// Catches era numbers that are used twice: two nodes rejoin in turn, so no remaining node was told of the first era.
TEST_F(rejoin_protocol_test, passes_on_earlier_eras) {
    receive(tutti::wire::message_type::ownership_report,
            tutti::wire::ownership_report{1, 1, 4, {}});  // sent by a process of era 4
    receive(tutti::wire::message_type::rejoin_ack, tutti::wire::rejoin_ack{.era = 5, .serves = true});
    ASSERT_TRUE(door.is_over());
    here.on_node_lost(0);
    door.on_node_lost(0);
    receive(tutti::wire::message_type::rejoin_request, tutti::wire::rejoin_request{1, {0, 0}});
    EXPECT_EQ(others.report.era, 5u);
}

TEST_F(rejoin_protocol_test, wakes_when_a_node_is_lost_early) {
    const std::jthread one = sleeper();
    here.on_node_lost(0);
    door.on_node_lost(0);
    EXPECT_EQ(door.lost_before_report(), node_number{0});
}

TEST_F(rejoin_protocol_test, wakes_when_a_reporting_node_is_lost) {
    receive(tutti::wire::message_type::ownership_report, tutti::wire::ownership_report{1, 1, 0, {}});
    const std::jthread one = sleeper();
    here.on_node_lost(0);
    door.on_node_lost(0);
    EXPECT_TRUE(door.is_over());
}

struct rejoining_process_test : ::testing::Test {
    struct silent final : rejoin_transport {
        void send_one_way(node_number, tutti::wire::message_type, std::string) override {}
        std::uint64_t process_of(node_number) override { return 0; }
    };
    rejoining_process_test() { door.begin({true, false, true}); }
    void receive(node_number from, const tutti::wire::ownership_report& what) {
        EXPECT_TRUE(door.receive({.type = tutti::wire::message_type::ownership_report, .from = from},
                                 tutti::wire::encode(what)));
    }

    tutti::support::watchdog guard{"rejoining_process_test"};
    silent others;
    protocol_node here{1, 3, object_placement::home};
    rejoin_protocol door{here, others};
};

// Catches a process that relies on the ownership report of a node that has since given objects away and ended.
TEST_F(rejoining_process_test, ends_when_a_node_is_lost_early) {
    receive(0, {1, 1, 0, {}});
    EXPECT_EQ(door.lost_before_report(), std::nullopt);
    here.on_node_lost(0);
    door.on_node_lost(0);
    EXPECT_EQ(door.lost_before_report(), node_number{0});
}

// Catches a process that asks at longer and longer intervals although each answer is progress. If objects move all the
// time, such a process gives up before the last round.
TEST_F(rejoining_process_test, reports_a_new_round) {
    const auto points_to = [](node_number owner) {
        tutti::wire::list_part list;
        list.places.push_back({object_id{}, owner, 0});
        return list;
    };
    receive(0, {1, 1, 0, points_to(2)});
    EXPECT_FALSE(door.wait(tutti::base::now()));
    receive(2, {1, 1, 0, points_to(0)});
    EXPECT_TRUE(door.wait(tutti::base::now() + std::chrono::hours{1})) << "the object may be on its way";
    EXPECT_FALSE(door.wait(tutti::base::now()));
    EXPECT_FALSE(door.is_over());
}

}  // namespace
