// Copies of objects that other nodes own, over sockets.
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <tutti/cluster/ref.hpp>
#include <tutti/tutti.hpp>

#include "cluster/nodes.hpp"
#include "cluster/raw_peer.hpp"

namespace {

using namespace tutti;
using cluster::node;
using cluster::ref;
using cluster::testing::account;
using cluster::testing::start_nodes;

/// An object that node 1 owns and node 0 reads.
struct cluster_object_cache : ::testing::Test {
    [[nodiscard]] long read() {
        return tutti::atomically([this](tutti::tx& t) { return there.read(t).balance; });
    }
    /// Reads until a read sends no more messages.
    void read_often() {
        std::uint64_t before = 0;
        for (unsigned i = 0; i < 1000; ++i) {
            before = nodes[0]->statistics().round_trips;
            static_cast<void>(read());
            if (nodes[0]->statistics().round_trips == before) return;
        }
        FAIL() << "it is asked for every time";
    }
    void write(long balance, unsigned by = 1) {
        const ref<account> its{*nodes[by], id};
        tutti::atomically([&](tutti::tx& t) { its.write(t).balance = balance; });
    }

    std::vector<std::unique_ptr<node>> nodes = start_nodes(2, cluster::placement::home);
    const cluster::object_id id = nodes[0]->id_at(1, {7, 7});
    const ref<account> there{*nodes[0], id};

    void SetUp() override {
        tutti::atomically([this](tutti::tx& t) { ref<account>{*nodes[1], id}.publish(t, account{1}); });
    }
};

TEST_F(cluster_object_cache, serves_reads_without_messages_and_never_stale) {
    for (long balance = 2; balance <= 5; ++balance) {
        read_often();
        EXPECT_EQ(nodes[0]->status().cached_objects, 1u);
        EXPECT_EQ(nodes[1]->status().objects_cached_elsewhere, 1u);
        write(balance, static_cast<unsigned>(balance) % 2);
        EXPECT_EQ(nodes[0]->status().cached_objects, 0u);
        EXPECT_EQ(read(), balance);
    }
    EXPECT_GE(nodes[0]->statistics().cached_reads, 4u);
}

// The copy is here, so the block sends no message, neither to read nor to lock the object that it read.
TEST_F(cluster_object_cache, suffices_for_a_local_write) {
    read_often();
    const ref<account> here{*nodes[0], nodes[0]->id_at(0, {8, 8})};
    const std::uint64_t before = nodes[0]->statistics().round_trips;
    tutti::atomically([&](tutti::tx& t) { here.publish(t, account{there.read(t).balance + 1}); });
    EXPECT_EQ(nodes[0]->statistics().round_trips, before);
    EXPECT_EQ(tutti::atomically([&](tutti::tx& t) { return here.read(t).balance; }), 2);
}

TEST_F(cluster_object_cache, drops_copies_of_a_lost_owner) {
    read_often();
    nodes[1].reset();
    EXPECT_THROW(while (true) static_cast<void>(read()), cluster::node_lost);
}

/// Plays node 1: answers one read of an object, lets the reader keep a copy, and then stays silent.
void answer_once(const cluster::node_options& how) {
    cluster::testing::raw_peer it{how.addresses[0]};
    it.send_hello(how, 1);
    wire::object_view view;
    view.where = wire::lookup_result::here;
    view.owner = 1;
    view.exists = view.shared = true;
    view.version = view.valid_at = 1;
    cluster::detail::holder_of<account>{account{3}}.encode(view.bytes);
    wire::header h;
    std::string body;
    for (bool has_answered = false; it.receive(h, body);) {
        if (h.type != wire::message_type::fetch || std::exchange(has_answered, true)) continue;
        it.send({.type = wire::message_type::fetch_reply, .from = 1, .call = h.call, .clock = 1},
                wire::encode(wire::fetch_reply{{view}}));
    }
}

// By then the silent node may have declared this node lost, and other nodes may have written the object.
TEST(cluster_object_cache_of_a_silent_node, is_not_read) {
    const cluster::node_options how{
        .addresses = {cluster::testing::fresh_address("silent-0"), cluster::testing::fresh_address("silent-1")},
        .failure_timeout = std::chrono::seconds{3}};  // this machine may be busy until the first read
    std::thread other{[&how] { answer_once(how); }};
    {
        const node here{how};
        const ref<account> there{here, here.id_at(1, {7, 7})};
        const auto read = [&] { return atomically([&](tx& t) { return there.read(t).balance; }); };
        EXPECT_EQ(read(), 3);
        std::this_thread::sleep_for(how.failure_timeout / 2);
        EXPECT_THROW(static_cast<void>(read()), cluster::node_lost);
    }
    other.join();
}

}  // namespace
