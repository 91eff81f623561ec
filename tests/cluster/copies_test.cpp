// Copies of what other nodes own, over sockets.
#include <memory>
#include <vector>

#include <gtest/gtest.h>
#include <tutti/cluster/ref.hpp>
#include <tutti/tutti.hpp>

#include "cluster/nodes.hpp"

namespace {

using namespace tutti;
using cluster::node;
using cluster::ref;
using cluster::testing::account;
using cluster::testing::start_nodes;

/// An object that node 1 has, and node 0 reads.
struct cluster_copies : ::testing::Test {
    [[nodiscard]] long read() {
        return tutti::atomically([this](tutti::tx& t) { return there.read(t).balance; });
    }
    /// Until a look needs no message any more.
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

TEST_F(cluster_copies, of_what_is_much_read_are_read_without_a_message_and_never_behind_a_write) {
    for (long balance = 2; balance <= 5; ++balance) {
        read_often();
        EXPECT_EQ(nodes[0]->facts().copies, 1u);
        EXPECT_EQ(nodes[1]->facts().shared, 1u);
        write(balance, static_cast<unsigned>(balance) % 2);
        EXPECT_EQ(nodes[0]->facts().copies, 0u);
        EXPECT_EQ(read(), balance);
    }
    EXPECT_GE(nodes[0]->statistics().cached_reads, 4u);
}

// What is written is here, so nobody is asked: neither to read, nor to lock what was read.
TEST_F(cluster_copies, that_a_block_has_read_are_all_that_it_needs_to_write_here) {
    read_often();
    const ref<account> here{*nodes[0], nodes[0]->id_at(0, {8, 8})};
    const std::uint64_t before = nodes[0]->statistics().round_trips;
    tutti::atomically([&](tutti::tx& t) { here.publish(t, account{there.read(t).balance + 1}); });
    EXPECT_EQ(nodes[0]->statistics().round_trips, before);
    EXPECT_EQ(tutti::atomically([&](tutti::tx& t) { return here.read(t).balance; }), 2);
}

TEST_F(cluster_copies, are_read_no_more_when_their_owner_is_gone) {
    read_often();
    nodes[1].reset();
    EXPECT_THROW(while (true) static_cast<void>(read()), cluster::node_lost);
}

}  // namespace
