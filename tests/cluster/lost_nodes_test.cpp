// A copy on a lost node counts until every other node has reported the loss as well. Node 0 of four owns an object, and
// node 3 has a copy of that object.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "cluster/protocol/protocol_node.hpp"
#include "wire/bytes.hpp"

namespace {

using namespace tutti::cluster;
using tutti::wire::lock_refusal;

class owner : public message_sender {
public:
    struct sent_message {
        node_number to;
        tutti::wire::lost_node what;
    };

    owner() {
        here.set_sender(*this);
        while (home_of(id, 4) != 0) ++id.low;
        const transaction_name setter{.node = 0, .slot = 9, .sequence = 1};
        EXPECT_EQ(here.objects.lock_to_write(id, 0, setter), lock_refusal::none);
        here.objects.apply_decision(id, tutti::wire::action::put, "value", 1, setter);
        here.objects.set_copy_threshold(1);
        give_copy();
    }
    void send_one_way(node_number to, tutti::wire::message_type kind, std::string body) override {
        tutti::wire::lost_node message;
        if (kind == tutti::wire::message_type::lost_node && tutti::wire::decode(body, message))
            sent.push_back({to, message});
    }
    void give_copy() {
        tutti::wire::object_view view;
        here.objects.read_and_grant_copy(id, view, 3);
        EXPECT_TRUE(view.shared);
    }
    void receive_report(node_number from, std::uint64_t first = 0) {
        here.losses.receive({.node = 3, .first = first}, from);
    }
    [[nodiscard]] bool may_write() {
        const transaction_name writer{.node = 0, .slot = 5, .sequence = ++attempts};
        const bool may = here.objects.lock_to_write(id, 1, writer) == lock_refusal::none;
        here.objects.unlock(id, writer);
        return may;
    }

    protocol_node here{0, 4, object_placement::home};
    object_id id{7, 1};
    std::vector<sent_message> sent;
    std::uint64_t attempts = 0;
};

TEST(lost_nodes_test, counts_copies_until_all_nodes_report_the_loss) {
    owner o;
    EXPECT_FALSE(o.may_write());
    o.here.on_node_lost(3);
    EXPECT_FALSE(o.may_write());
    o.receive_report(1);
    EXPECT_FALSE(o.may_write());
    o.receive_report(2);
    EXPECT_TRUE(o.may_write());
}

TEST(lost_nodes_test, counts_no_copies_for_lost_nodes) {
    owner o;
    o.receive_report(1);
    o.here.on_node_lost(3);
    EXPECT_FALSE(o.may_write());
    o.here.on_node_lost(2);
    EXPECT_TRUE(o.may_write());
}

TEST(lost_nodes_test, forgets_copies_after_a_rejoin) {
    owner o;
    o.here.on_node_lost(3);
    o.here.admit(3, 1000);
    EXPECT_TRUE(o.may_write());
    o.give_copy();
    o.here.on_node_lost(3);
    o.receive_report(1);  // sent by the former process
    o.receive_report(2);
    EXPECT_FALSE(o.may_write());
    o.receive_report(1, 1000);
    o.receive_report(2, 1000);
    EXPECT_TRUE(o.may_write());
}

TEST(lost_nodes_test, reports_a_loss_to_all_others) {
    owner o;
    o.here.on_node_lost(3);
    ASSERT_EQ(o.sent.size(), 2u);
    for (const owner::sent_message& w : o.sent) {
        EXPECT_EQ(w.what.node, 3);
        EXPECT_FALSE(w.what.relayed);
        EXPECT_TRUE(w.to == 1 || w.to == 2);
    }
}

/// Returns the number of messages sent before the end of a commit that has pinned copies of the lost node's objects.
std::size_t words_beside_pins() {
    owner o;
    o.here.references.add_pins(3);
    o.here.on_node_lost(3);
    const std::size_t early = o.sent.size();
    if (o.here.references.drop_pins(3)) o.here.losses.on_pins_dropped(3);
    EXPECT_EQ(o.sent.size(), early + 2);
    return early;
}

TEST(lost_nodes_test, ends_commits_with_its_copies_first) {
    EXPECT_EQ(words_beside_pins(), 0u);
    injected_fault = fault::report_loss_before_pins_dropped;
    EXPECT_EQ(words_beside_pins(), 2u);
    injected_fault = fault::none;
}

TEST(lost_nodes_test, relays_a_loss_to_the_disconnected_node) {
    owner o;
    o.receive_report(2);
    ASSERT_EQ(o.sent.size(), 1u);
    EXPECT_EQ(o.sent[0].to, 3);
    EXPECT_EQ(o.sent[0].what.node, 2);
    EXPECT_TRUE(o.sent[0].what.relayed);
    o.here.losses.receive({.node = 3, .first = 0, .relayed = true}, 1);
    EXPECT_EQ(o.sent.size(), 1u) << "a relayed message is not relayed again";
    o.here.admit(3, 1000);
    o.receive_report(2);
    EXPECT_EQ(o.sent.size(), 1u) << "it was about a former process";
}

}  // namespace
