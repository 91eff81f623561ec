// A copy on a lost node counts until every other node has reported the loss as well. Node 0 of four owns an object, and
// node 3 has a copy of that object.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "cluster/protocol/site.hpp"
#include "wire/bytes.hpp"

namespace {

using namespace tutti::cluster;
using tutti::wire::lock_refusal;

class owner : public speaker {
public:
    struct word {
        node_number to;
        tutti::wire::lost_node what;
    };

    owner() {
        here.speak_through(*this);
        while (home_of(id, 4) != 0) ++id.low;
        const transaction_name setter{.node = 0, .slot = 9, .sequence = 1};
        EXPECT_EQ(here.objects.lock_to_write(id, 0, setter), lock_refusal::none);
        here.objects.settle(id, tutti::wire::action::put, "value", 1, setter);
        here.objects.share_after(1);
        give_copy();
    }
    void say(node_number to, tutti::wire::message_type kind, std::string body) override {
        tutti::wire::lost_node told;
        if (kind == tutti::wire::message_type::lost_node && tutti::wire::decode(body, told))
            words.push_back({to, told});
    }
    void give_copy() {
        tutti::wire::object_view view;
        here.objects.look_to_share(id, view, 3);
        EXPECT_TRUE(view.shared);
    }
    void hear(node_number from, std::uint64_t first = 0) { here.losses.hear({.node = 3, .first = first}, from); }
    [[nodiscard]] bool may_write() {
        const transaction_name writer{.node = 0, .slot = 5, .sequence = ++attempts};
        const bool may = here.objects.lock_to_write(id, 1, writer) == lock_refusal::none;
        here.objects.unlock(id, writer);
        return may;
    }

    site here{0, 4, moving::never};
    object_id id{7, 1};
    std::vector<word> words;
    std::uint64_t attempts = 0;
};

TEST(copies_of_a_lost_node, count_until_every_node_has_lost_it) {
    owner o;
    EXPECT_FALSE(o.may_write());
    o.here.lose(3);
    EXPECT_FALSE(o.may_write());
    o.hear(1);
    EXPECT_FALSE(o.may_write());
    o.hear(2);
    EXPECT_TRUE(o.may_write());
}

TEST(copies_of_a_lost_node, count_for_no_node_that_is_lost_itself) {
    owner o;
    o.hear(1);
    o.here.lose(3);
    EXPECT_FALSE(o.may_write());
    o.here.lose(2);
    EXPECT_TRUE(o.may_write());
}

TEST(copies_of_a_lost_node, are_forgotten_when_another_process_follows) {
    owner o;
    o.here.lose(3);
    o.here.admit(3, 1000);
    EXPECT_TRUE(o.may_write());
    o.give_copy();
    o.here.lose(3);
    o.hear(1);  // sent by the former process
    o.hear(2);
    EXPECT_FALSE(o.may_write());
    o.hear(1, 1000);
    o.hear(2, 1000);
    EXPECT_TRUE(o.may_write());
}

TEST(a_node_that_loses_another, tells_all_others) {
    owner o;
    o.here.lose(3);
    ASSERT_EQ(o.words.size(), 2u);
    for (const owner::word& w : o.words) {
        EXPECT_EQ(w.what.node, 3);
        EXPECT_FALSE(w.what.relayed);
        EXPECT_TRUE(w.to == 1 || w.to == 2);
    }
}

/// Returns the number of messages sent before the end of a commit that has pinned copies of the lost node's objects.
std::size_t words_beside_pins() {
    owner o;
    o.here.tied.begin_pins(3);
    o.here.lose(3);
    const std::size_t early = o.words.size();
    if (o.here.tied.end_pins(3)) o.here.losses.end_of_pins(3);
    EXPECT_EQ(o.words.size(), early + 2);
    return early;
}

TEST(a_node_that_loses_another, first_ends_commits_that_have_read_its_copies) {
    EXPECT_EQ(words_beside_pins(), 0u);
    injected_fault = fault::believe_early_partings;
    EXPECT_EQ(words_beside_pins(), 2u);
    injected_fault = fault::none;
}

TEST(a_node_that_hears_of_a_loss, relays_it_to_the_node_that_is_cut_off) {
    owner o;
    o.hear(2);
    ASSERT_EQ(o.words.size(), 1u);
    EXPECT_EQ(o.words[0].to, 3);
    EXPECT_EQ(o.words[0].what.node, 2);
    EXPECT_TRUE(o.words[0].what.relayed);
    o.here.losses.hear({.node = 3, .first = 0, .relayed = true}, 1);
    EXPECT_EQ(o.words.size(), 1u) << "a relayed word goes no further";
    o.here.admit(3, 1000);
    o.hear(2);
    EXPECT_EQ(o.words.size(), 1u) << "it was about a former process";
}

}  // namespace
