// Both sides of copies, message by message: the copies that an owner grants, and the copies that other nodes keep.
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "cluster/directory/object_cache.hpp"
#include "cluster/directory/object_directory.hpp"
#include "cluster/protocol/protocol_node.hpp"
#include "cluster/protocol/transaction.hpp"

namespace {

using namespace tutti::cluster;

// ---- DIR12

/// Records the messages that it receives.
struct message_recorder final : change_listener {
    void on_change(const object_id&, std::span<const node_number>) override {}
    bool report_eviction(const object_id&, node_number, std::uint64_t) noexcept override { return true; }
    void invalidate_copy(const object_id&, node_number holder, std::uint64_t grant) noexcept override {
        invalidated.push_back({holder, grant});
    }
    struct recorded {
        node_number holder;
        std::uint64_t grant;
    };
    std::vector<recorded> invalidated;
};

/// Node 0 of two, and an object that is at home there.
struct copy_tracking_test : ::testing::Test {
    copy_tracking_test() {
        objects.set_listener(all);
        objects.set_copy_threshold(threshold);
        clock.raise_to(1);
        readers.merge(1, 1);  // no reader asks for older versions
        write(0, 1);
    }
    void write(std::uint64_t from, std::uint64_t version) {
        ASSERT_EQ(try_to_lock(from), tutti::wire::lock_refusal::none);
        objects.apply_decision(id, tutti::wire::action::put, "bytes", version, other);
    }
    [[nodiscard]] tutti::wire::lock_refusal try_to_lock(std::uint64_t version) {
        const tutti::wire::lock_refusal why = objects.lock_to_write(id, version, other);
        if (why == tutti::wire::lock_refusal::shared) objects.invalidate_copies(id);
        return why;
    }
    void give_back(node_number from, std::uint64_t grant, std::uint32_t used = 0) {
        objects.on_copy_dropped({.id = id, .grant = grant, .looks = used}, from);
    }
    /// Returns the answer that node 1 gets.
    [[nodiscard]] tutti::wire::object_view ask() {
        tutti::wire::object_view view;
        objects.read_and_grant_copy(id, view, 1);
        return view;
    }
    /// Returns the number of reads of node 1 until it may keep a copy.
    [[nodiscard]] unsigned reads_until_copied() {
        for (unsigned i = 1; i <= 1000; ++i) {
            if (ask().shared) return i;
        }
        return 0;
    }
    static object_id some_object() {
        for (std::uint64_t i = 0;; ++i) {
            if (home_of({1, i}, 2) == 0) return {1, i};
        }
    }

    static constexpr unsigned threshold = 3;
    logical_clock clock;
    snapshot_tracker readers{0, 2, clock};
    object_directory objects{0, 2, clock, readers};
    message_recorder all;
    const object_id id = some_object();
    const transaction_name other{.node = 1, .slot = 0, .sequence = 1};
};

TEST_F(copy_tracking_test, grants_copies_of_often_read_objects) {
    EXPECT_EQ(reads_until_copied(), threshold);
    EXPECT_EQ(objects.count().cached_elsewhere, 1u);
    give_back(1, clock.now());
    EXPECT_EQ(objects.count().cached_elsewhere, 0u);
}

TEST_F(copy_tracking_test, adapts_the_threshold_to_copy_use) {
    const auto share_and_write = [this](std::uint64_t version, std::uint32_t used) {
        const unsigned looked = reads_until_copied();
        give_back(1, clock.now(), used);
        write(version - 1, version);
        return looked;
    };
    EXPECT_EQ(share_and_write(2, 0), threshold);
    EXPECT_EQ(share_and_write(3, 1), 2 * threshold);
    EXPECT_EQ(share_and_write(4, 100), 4 * threshold);
    EXPECT_EQ(share_and_write(5, 100), 2 * threshold);
    EXPECT_EQ(share_and_write(6, 100), threshold);
    EXPECT_EQ(share_and_write(7, 100), 1u);
}

TEST_F(copy_tracking_test, refuses_writes_until_all_copies_are_dropped) {
    const std::uint64_t first = (static_cast<void>(reads_until_copied()), ask().valid_at);
    EXPECT_EQ(try_to_lock(1), tutti::wire::lock_refusal::shared);
    ASSERT_EQ(all.invalidated.size(), 1u);
    EXPECT_EQ(all.invalidated.front().holder, 1u);
    EXPECT_EQ(all.invalidated.front().grant, first);
    EXPECT_EQ(try_to_lock(1), tutti::wire::lock_refusal::shared);
    EXPECT_EQ(all.invalidated.size(), 2u) << "the word may have been lost";
    give_back(0, first);
    EXPECT_EQ(try_to_lock(1), tutti::wire::lock_refusal::shared) << "of another node";
    give_back(1, first);
    EXPECT_EQ(try_to_lock(1), tutti::wire::lock_refusal::none);
}

TEST_F(copy_tracking_test, forgets_copies_of_a_former_process) {
    static_cast<void>(reads_until_copied());
    objects.on_node_lost(1);
    objects.admit(1, 10);
    EXPECT_EQ(objects.count().cached_elsewhere, 0u);
    EXPECT_EQ(try_to_lock(1), tutti::wire::lock_refusal::none);
    EXPECT_TRUE(all.invalidated.empty());
}

TEST_F(copy_tracking_test, ignores_late_drops_of_earlier_grants) {
    static_cast<void>(reads_until_copied());
    EXPECT_EQ(try_to_lock(1), tutti::wire::lock_refusal::shared);
    const std::uint64_t grant = all.invalidated.front().grant;
    give_back(1, grant, 100);
    EXPECT_EQ(reads_until_copied(), 0u) << "as long as the clock says the same, nothing tells two grants apart";
    clock.raise_to(clock.now() + 1);
    EXPECT_TRUE(ask().shared);
    give_back(1, grant);  // a duplicate of the message
    EXPECT_EQ(try_to_lock(1), tutti::wire::lock_refusal::shared);
}

TEST_F(copy_tracking_test, grants_no_copies_while_a_writer_waits) {
    static_cast<void>(reads_until_copied());
    EXPECT_EQ(try_to_lock(1), tutti::wire::lock_refusal::shared);
    give_back(1, all.invalidated.front().grant);
    clock.raise_to(clock.now() + 1);
    EXPECT_GT(reads_until_copied(), 10 * threshold) << "the writer had no time to ask again";
}

TEST_F(copy_tracking_test, drops_copies_once_all_nodes_report_the_loss) {
    static_cast<void>(reads_until_copied());
    objects.on_node_lost(1);
    EXPECT_EQ(try_to_lock(1), tutti::wire::lock_refusal::shared) << "of its last commits others may know more";
    objects.stop_counting_copies_of(1);
    all.invalidated.clear();
    EXPECT_EQ(objects.lock_to_write(id, 1, {.node = 0, .slot = 0, .sequence = 1}), tutti::wire::lock_refusal::none);
    EXPECT_TRUE(all.invalidated.empty());
}

TEST_F(copy_tracking_test, makes_local_commits_wait_for_copies) {
    static_cast<void>(reads_until_copied());
    std::string fresh = "fresh";
    std::uint64_t version = 0;
    const transaction_name mine{.node = 0, .slot = 0, .sequence = 1};
    const auto commit = [&] {
        object_directory::local_write only{.id = &id, .version = 1, .fresh = &fresh, .what = tutti::wire::action::put};
        return objects.commit_locally({&only, 1}, mine, {}, version);
    };
    EXPECT_EQ(commit(), tutti::wire::lock_refusal::shared);
    ASSERT_EQ(all.invalidated.size(), 1u);
    give_back(1, all.invalidated.front().grant);
    EXPECT_EQ(commit(), tutti::wire::lock_refusal::none);
}

TEST_F(copy_tracking_test, forbids_in_place_writes_of_copied_objects) {
    object_directory::lookup_hint found;
    tutti::wire::object_view view;
    objects.read(id, view, tutti::wire::newest, found);
    const auto is_free = [&] {
        return objects.reread(found, id, view) && seqlock_object::allows_in_place_write(found.word);
    };
    EXPECT_TRUE(is_free());
    static_cast<void>(reads_until_copied());
    EXPECT_FALSE(is_free());
    give_back(1, clock.now());
    EXPECT_TRUE(is_free());
}

// ---- copies: OBC1 to OBC4

struct object_cache_test : ::testing::Test {
    object_cache_test() { all.limit(std::size_t{1} << 20); }
    void keep(std::uint64_t version, node_number owner = 1) { keep_for(all.invalidations(id), version, owner); }
    void keep_for(std::uint64_t invalidations, std::uint64_t version = 1, node_number owner = 1) {
        tutti::wire::object_view view;
        view.version = view.valid_at = version;
        view.bytes = "bytes";
        all.insert(id, owner, view, invalidations);
    }
    [[nodiscard]] bool is_there() {
        tutti::wire::object_view view;
        const bool found = all.read(id, view);
        if (found) {
            EXPECT_EQ(view.valid_at, clock.now());
            EXPECT_EQ(view.bytes, "bytes");
        }
        return found;
    }
    logical_clock clock;
    object_cache all{clock};
    const object_id id{1, 2};
};

TEST_F(object_cache_test, keeps_copies_until_invalidated) {
    EXPECT_FALSE(is_there());
    keep(3);
    clock.raise_to(7);
    EXPECT_TRUE(is_there());
    EXPECT_TRUE(all.is_current(id, 3));
    EXPECT_FALSE(all.is_current(id, 2));
    EXPECT_TRUE(all.invalidate({id, 3, 0}).has_value());
    EXPECT_FALSE(is_there());
    EXPECT_EQ(all.count().objects, 0u);
    EXPECT_EQ(all.count().bytes, 0u);
}

TEST_F(object_cache_test, ignores_answers_overtaken_by_invalidations) {
    const std::uint64_t before = all.invalidations(id);
    EXPECT_TRUE(all.invalidate({id, 3, 0}).has_value()) << "there is none, and there will be none";
    keep_for(before);
    EXPECT_FALSE(is_there());
}

TEST_F(object_cache_test, keeps_pinned_copies) {
    keep(3);
    EXPECT_FALSE(all.pin(id, 2));
    EXPECT_TRUE(all.pin(id, 3));
    EXPECT_TRUE(all.pin(id, 3));
    EXPECT_FALSE(all.invalidate({id, 3, 0}).has_value());
    EXPECT_FALSE(is_there()) << "no other node reads it";
    EXPECT_FALSE(all.pin(id, 3));
    all.unpin(id);
    EXPECT_FALSE(all.invalidate({id, 3, 0}).has_value());
    EXPECT_FALSE(all.release(id).has_value());
    all.unpin(id);
    EXPECT_EQ(all.count().objects, 0u);
    EXPECT_TRUE(all.invalidate({id, 3, 0}).has_value());
}

TEST_F(object_cache_test, releases_copies_by_grant) {
    EXPECT_FALSE(all.release(id).has_value());
    keep(3);
    keep(5);
    const auto recorded = all.release(id);
    ASSERT_TRUE(recorded.has_value());
    EXPECT_EQ(recorded->grant, 5u);
    EXPECT_FALSE(is_there());
}

TEST_F(object_cache_test, drops_copies_and_answers_of_a_lost_node) {
    keep(3);
    const std::uint64_t before = all.invalidations(id);
    all.on_node_lost(2);
    EXPECT_TRUE(is_there());
    all.on_node_lost(1);
    EXPECT_FALSE(is_there());
    keep_for(before);
    EXPECT_FALSE(is_there());
}

// The owner of a copied object can still be found when the object's home is lost.
TEST(protocol_node_copies_test, name_the_owner_when_the_home_is_lost) {
    object_id id{1, 0};
    while (home_of(id, 3) != 0) ++id.low;
    protocol_node here{1, 3, object_placement::home};
    here.cache.limit(std::size_t{1} << 20);
    tutti::wire::object_view view;
    view.version = view.valid_at = 5;
    here.cache.insert(id, 2, view, here.cache.invalidations(id));
    EXPECT_EQ(here.objects.owner_of(id), 0u);
    here.on_node_lost(0);
    EXPECT_EQ(here.objects.owner_of(id), 2u);
    EXPECT_EQ(here.cache.count().objects, 1u);
}

/// A network on which no node answers.
struct silent final : network {
    void exchange(std::span<call> calls) override {
        for (const call& c : calls) asked.push_back(c.to);
    }
    void begin(std::span<call>) override {}
    void finish() override {}
    void post(node_number, tutti::wire::message_type, std::string) override {}
    [[nodiscard]] bool is_reachable(node_number) const noexcept override { return true; }
    void pause(unsigned) override {}
    std::vector<node_number> asked;
};

// Returns the nodes that a node asks for an object of which it had a copy. The object's home is lost, and its pointers
// have been wrong.
TEST(protocol_node_copies_test, ask_the_owner_when_the_home_is_lost) {
    object_id id{1, 0};
    while (home_of(id, 3) != 0) ++id.low;
    const auto asks = [&id](fault broken_step) {
        protocol_node here{1, 3, object_placement::writer};
        here.cache.limit(std::size_t{1} << 20);
        tutti::wire::object_view view;
        view.version = view.valid_at = 5;
        here.clock.raise_to(5);
        here.cache.insert(id, 2, view, here.cache.invalidations(id));
        for (int i = 0; i < 4; ++i) here.predictor.record(id, false);
        here.on_node_lost(0);
        static_cast<void>(here.cache.release(id));
        silent others;
        distributed_transaction work{here, others, 0};
        static_cast<void>(work.begin());
        injected_fault = broken_step;
        static_cast<void>(work.open({&id, 1}));
        injected_fault = fault::none;
        return others.asked;
    };
    EXPECT_EQ(asks(fault::none), std::vector<node_number>{2});
    EXPECT_EQ(asks(fault::ask_lost_home), std::vector<node_number>{0});
}

// A node that owned a copied object is admitted again only after the commits that have read the copy are decided
// (RJN2).
TEST(protocol_node_copies_test, bind_commits_to_their_owners) {
    object_id of_other{1, 0}, own{2, 0};
    while (home_of(of_other, 2) != 1) ++of_other.low;
    while (home_of(own, 2) != 0) ++own.low;
    enum class way { commits, commits_what_it_read_in_copies, aborts };
    for (const way how : {way::commits, way::commits_what_it_read_in_copies, way::aborts}) {
        protocol_node here{0, 2, object_placement::home};
        here.cache.limit(std::size_t{1} << 20);
        here.clock.raise_to(5);
        tutti::wire::object_view view;
        view.version = view.valid_at = 5;
        here.cache.insert(of_other, 1, view, here.cache.invalidations(of_other));
        silent others;
        distributed_transaction work{here, others, 0};
        static_cast<void>(work.begin());
        ASSERT_EQ(work.open({&of_other, 1}), protocol_status::good);
        if (how != way::commits_what_it_read_in_copies) {
            ASSERT_EQ(work.open({&own, 1}), protocol_status::good);
        }
        ASSERT_EQ(work.prepare(false), protocol_status::good);
        here.on_node_lost(1);
        EXPECT_TRUE(here.references.has_lost_peer());
        if (how == way::aborts) work.abort();
        else work.commit();
        EXPECT_FALSE(here.references.has_lost_peer());
        static_cast<void>(work.begin());
        EXPECT_EQ(work.open({&of_other, 1}), protocol_status::lost);
    }
}

// If an object did not arrive before its sender was lost, the object has ended once the sender has rejoined.
TEST(lost_transfer_test, is_in_doubt_until_the_owner_is_back) {
    object_id id{1, 0};
    while (home_of(id, 3) != 2) ++id.low;
    protocol_node here{0, 3, object_placement::writer};
    here.on_node_lost(1);
    here.objects.transfer_lost(id, 1);
    const auto where = [&] {
        tutti::wire::object_view view;
        here.objects.read(id, view);
        here.objects.report_transfer_lost(id, view);
        return view.where;
    };
    EXPECT_EQ(where(), tutti::wire::lookup_result::in_doubt);
    here.objects.erase_former(2, 5);
    EXPECT_EQ(where(), tutti::wire::lookup_result::in_doubt) << "of another node";
    here.objects.erase_former(1, 6);
    EXPECT_EQ(where(), tutti::wire::lookup_result::elsewhere);
}

TEST_F(object_cache_test, bounds_its_memory) {
    constexpr std::size_t max_bytes = 64 * 1000;
    all.limit(max_bytes);
    const auto keep_one = [this](std::uint64_t low) {
        tutti::wire::object_view view;
        view.version = view.valid_at = 1;
        view.bytes.assign(100, 'x');
        all.insert({1, low}, 1, view, all.invalidations({1, low}));
    };
    for (std::uint64_t i = 0; i < 2000; ++i) keep_one(i);
    EXPECT_LE(all.count().bytes, max_bytes);
    EXPECT_GT(all.count().objects, 100u);
    keep_one(5000);
    tutti::wire::object_view view;
    EXPECT_TRUE(all.read({1, 5000}, view)) << "the latest one is there";
    view.bytes.assign(2000, 'x');
    all.insert({1, 6000}, 1, view, all.invalidations({1, 6000}));
    EXPECT_FALSE(all.read({1, 6000}, view)) << "there is no room for it";
}

}  // namespace
