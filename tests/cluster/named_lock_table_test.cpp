// The abstract locks of one node, message by message, for cases in which the order of messages matters.
#include <gtest/gtest.h>

#include "cluster/protocol/named_lock_table.hpp"

namespace {

using namespace tutti::cluster;
using tutti::wire::claim;
using tutti::wire::claim_reply;

constexpr object_id one{1, 1}, two{1, 2};

struct named_lock_table_test : ::testing::Test {
    static transaction_name hold(node_number node, std::uint64_t sequence) {
        return {.node = node, .slot = 0, .sequence = sequence};
    }
    claim_reply ask(const transaction_name& who, std::uint64_t age, std::vector<tutti::wire::claim_item> wanted) {
        return locks.claim({who, who, age, std::move(wanted)});
    }
    named_lock_table locks;
};

TEST_F(named_lock_table_test, acquires_up_to_the_first_taken_name) {
    EXPECT_EQ(ask(hold(1, 1), 5, {{two, false}}).granted, 1u);
    const claim_reply answer = ask(hold(0, 1), 4, {{one, false}, {two, false}});
    EXPECT_EQ(answer.granted, 1u);
    EXPECT_FALSE(answer.older) << "the holder is younger";
    EXPECT_TRUE(ask(hold(2, 1), 6, {{two, false}}).older);
    EXPECT_TRUE(ask(hold(2, 1), 5, {{two, false}}).older) << "of one age the number of the node decides";
    EXPECT_EQ(locks.held(), 2u);
}

TEST_F(named_lock_table_test, upgrades_a_sole_shared_hold) {
    EXPECT_EQ(ask(hold(0, 1), 1, {{one, true}}).granted, 1u);
    EXPECT_EQ(ask(hold(1, 1), 2, {{one, true}}).granted, 1u);
    EXPECT_EQ(ask(hold(0, 1), 1, {{one, false}}).granted, 0u);
    locks.release(hold(1, 1));
    EXPECT_EQ(ask(hold(0, 1), 1, {{one, false}}).granted, 1u);
    EXPECT_EQ(ask(hold(1, 2), 2, {{one, true}}).granted, 0u);
    EXPECT_EQ(ask(hold(0, 1), 1, {{one, true}}).granted, 1u) << "which does not make it weaker";
    EXPECT_EQ(ask(hold(1, 2), 2, {{one, true}}).granted, 0u);
}

TEST_F(named_lock_table_test, refuses_an_ended_hold) {
    EXPECT_EQ(ask(hold(0, 1), 1, {{one, false}}).granted, 1u);
    locks.release(hold(0, 1));
    EXPECT_EQ(ask(hold(0, 1), 1, {{one, false}}).granted, 0u) << "a duplicate";
    locks.release(hold(0, 2));  // arrives before the claim
    EXPECT_EQ(ask(hold(0, 2), 1, {{one, false}}).granted, 0u);
    EXPECT_EQ(locks.held(), 0u);
}

TEST_F(named_lock_table_test, frees_an_earlier_hold) {
    EXPECT_EQ(ask(hold(0, 1), 1, {{one, false}}).granted, 1u);
    EXPECT_EQ(ask(hold(0, 2), 1, {{two, false}}).granted, 1u);
    locks.release(hold(0, 1));  // arrives late
    EXPECT_EQ(ask(hold(1, 1), 2, {{one, false}}).granted, 1u);
    EXPECT_EQ(ask(hold(1, 1), 2, {{two, false}}).granted, 0u);
}

TEST_F(named_lock_table_test, frees_names_of_a_lost_node) {
    EXPECT_EQ(ask(hold(1, 1), 1, {{one, false}, {two, true}}).granted, 2u);
    EXPECT_EQ(ask(hold(2, 1), 1, {{two, true}}).granted, 1u);
    locks.on_node_lost(1);
    EXPECT_EQ(locks.held(), 1u) << "what another shared stays";
    EXPECT_EQ(ask(hold(0, 1), 2, {{one, false}}).granted, 1u);
    EXPECT_EQ(ask(hold(1, 2), 3, {{one, true}}).granted, 0u) << "it takes nothing any more";
}

// Catches unbounded memory growth that another node can cause.
TEST_F(named_lock_table_test, bounds_the_names_of_a_thread) {
    std::vector<tutti::wire::claim_item> some(1000);
    std::uint64_t next = 0;
    claim_reply answer;
    for (int i = 0; i < 80 && !answer.is_full; ++i) {
        for (auto& item : some) item.name = {2, ++next};
        answer = ask(hold(0, 1), 1, some);
    }
    EXPECT_TRUE(answer.is_full);
    EXPECT_EQ(locks.held(), 65536u);
}

}  // namespace
