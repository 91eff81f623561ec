// What participants tell each other of commits of a node that is gone: of node 2, whose commits nodes 0 and 1 take part
// in. Catches one that decides what it does not know, or denies what it may have promised.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "cluster/protocol/admission.hpp"
#include "wire/bytes.hpp"

namespace {

using namespace tutti::cluster;

class participant : public speaker {
public:
    participant() {
        here.votes.speak_through(*this);
        here.clock.raise_to(5);
    }
    void say(node_number to, tutti::wire::kind kind, std::string body) override {
        EXPECT_EQ(to, 1);
        if (kind == tutti::wire::kind::inquire) ++questions;
        tutti::wire::verdict v;
        if (kind == tutti::wire::kind::verdict && tutti::wire::decode(body, v)) told.push_back(v);
    }
    /// Its coordinator's prepare: writes one object, and has read another.
    bool prepare(std::uint64_t sequence) {
        return here.votes
            .prepare({.who = {2, 0, sequence},
                      .decides = tutti::wire::decider::sender_of_several,
                      .reads = {{read, 0}},
                      .writes = {{written, 0, tutti::wire::action::put, "new"}},
                      .others = {1}})
            .yes;
    }
    void decide(std::uint64_t sequence, bool commits) { here.votes.decide({{2, 0, sequence}, commits, 4}); }
    void lose(node_number n) {
        here.lose(n);
        door.lose(n);
    }
    void hear(tutti::wire::fate f) { here.votes.hear({{2, 0, 1}, f, f == tutti::wire::fate::committed ? 5u : 0u}, 1); }
    [[nodiscard]] std::optional<tutti::wire::fate> says_of(std::uint64_t sequence) {
        told.clear();
        here.votes.inquire({2, 0, sequence}, 1);
        return told.empty() ? std::nullopt : std::optional{told.front().fate};
    }
    [[nodiscard]] tutti::wire::object_view look() {
        tutti::wire::object_view view;
        here.objects.look(written, view);
        return view;
    }
    [[nodiscard]] bool is_in_doubt() { return look().where == tutti::wire::whereabouts::in_doubt; }
    [[nodiscard]] bool may_overwrite_what_it_read() {
        const transaction_name another{.node = 0, .slot = 9, .sequence = 1};
        const bool may = here.objects.lock_to_write(read, 0, another) == tutti::wire::obstacle::none;
        here.objects.unlock(read, another);
        return may;
    }

    struct closed final : gate {
        void say(node_number, tutti::wire::kind kind, std::string) override {
            surveys += kind == tutti::wire::kind::survey ? 1u : 0u;
        }
        std::uint64_t process_of(node_number) override { return 0; }
        unsigned surveys = 0;
    };
    /// Another process asks to be let in in its place. Whether it is told what this node knows of objects.
    bool is_followed() {
        const unsigned before = others.surveys;
        EXPECT_TRUE(door.hear({.kind = tutti::wire::kind::gather, .from = 2},
                              tutti::wire::encode(tutti::wire::gather{1, {0, 0, 0}})));
        return others.surveys != before;
    }

    site here{0, 3, moving::never};
    closed others;
    admission door{here, others};
    const object_id written = at_home(0), read = at_home(written.low + 1);
    unsigned questions = 0;
    std::vector<tutti::wire::verdict> told;

private:
    static object_id at_home(std::uint64_t from) {
        object_id id{5, from};
        while (home_of(id, 3) != 0) ++id.low;
        return id;
    }
};

TEST(participants, take_over_what_another_one_knows) {
    for (const bool commits : {true, false}) {
        participant p;
        ASSERT_TRUE(p.prepare(1));
        EXPECT_EQ(p.here.votes.count().in_doubt, 0u);
        p.hear(tutti::wire::fate::committed);
        EXPECT_EQ(p.look().where, tutti::wire::whereabouts::busy) << "its node runs, and is the one to say so";
        p.lose(2);
        EXPECT_EQ(p.questions, 1u);
        EXPECT_TRUE(p.is_in_doubt());
        EXPECT_EQ(p.here.votes.count().in_doubt, 1u);
        EXPECT_FALSE(p.may_overwrite_what_it_read());
        p.hear(commits ? tutti::wire::fate::committed : tutti::wire::fate::aborted);
        EXPECT_EQ(p.look().exists, commits);
        EXPECT_EQ(p.look().version, commits ? 5u : 0u);
        EXPECT_TRUE(p.may_overwrite_what_it_read());
        const voter::figures f = p.here.votes.count();
        EXPECT_EQ(f.in_doubt, 0u);
        EXPECT_EQ(f.committed, commits ? 1u : 0u);
        EXPECT_EQ(f.aborted, commits ? 0u : 1u);
        EXPECT_EQ(p.says_of(1), commits ? tutti::wire::fate::committed : tutti::wire::fate::aborted);
    }
}

TEST(participants, leave_in_doubt_what_none_of_them_knows) {
    participant p;
    ASSERT_TRUE(p.prepare(1));
    EXPECT_EQ(p.says_of(1), std::nullopt) << "its decision may come";
    p.lose(2);
    ASSERT_EQ(p.told.size(), 1u) << "of what was asked for before";
    EXPECT_EQ(p.told.front().fate, tutti::wire::fate::unknown);
    p.hear(tutti::wire::fate::unknown);
    EXPECT_TRUE(p.is_in_doubt());
    EXPECT_TRUE(p.may_overwrite_what_it_read());
}

/// What it says of a commit that it has prepared, and that was decided, so long ago.
std::optional<tutti::wire::fate> says_of_long_ago(bool another_process_follows) {
    participant p;
    EXPECT_TRUE(p.prepare(1));
    p.decide(1, true);
    for (std::uint64_t i = 2; i < 100 && !another_process_follows; ++i) p.decide(i, false);
    p.lose(2);
    if (another_process_follows) p.here.admit(2, 1000);
    return p.says_of(1);
}

TEST(participants, deny_only_what_they_know_that_they_have_not_promised) {
    {
        participant p;
        EXPECT_EQ(p.says_of(1), std::nullopt);
        p.decide(1, false);
        ASSERT_EQ(p.told.size(), 1u);
        EXPECT_EQ(p.told.front().fate, tutti::wire::fate::aborted);
        EXPECT_EQ(p.says_of(2), std::nullopt);
        p.lose(2);
        EXPECT_EQ(p.told.back().fate, tutti::wire::fate::aborted);
        EXPECT_FALSE(p.prepare(2)) << "it has said that it never will";
    }
    EXPECT_EQ(says_of_long_ago(false), tutti::wire::fate::unknown);
    EXPECT_EQ(says_of_long_ago(true), tutti::wire::fate::unknown);
    injected_fault = fault::deny_what_is_forgotten;
    EXPECT_EQ(says_of_long_ago(false), tutti::wire::fate::aborted);
    EXPECT_EQ(says_of_long_ago(true), tutti::wire::fate::aborted);
    injected_fault = fault::none;
}

/// Another process has the number of the other participant, before its coordinator is lost or after that.
bool believes_a_successor(bool before) {
    participant p;
    EXPECT_TRUE(p.prepare(1));
    if (!before) p.lose(2);
    p.lose(1);
    p.here.admit(1, 1000);
    if (before) p.lose(2);
    EXPECT_TRUE(p.is_in_doubt());
    p.hear(tutti::wire::fate::aborted);
    return !p.is_in_doubt();
}

TEST(participants, believe_no_process_that_came_later) {
    EXPECT_FALSE(believes_a_successor(true));
    EXPECT_FALSE(believes_a_successor(false));
    injected_fault = fault::believe_successors;
    EXPECT_TRUE(believes_a_successor(true));
    EXPECT_TRUE(believes_a_successor(false));
    injected_fault = fault::none;
    participant p;
    p.lose(1);
    ASSERT_TRUE(p.prepare(1));
    p.here.admit(1, 1000);
    p.lose(2);
    p.hear(tutti::wire::fate::aborted);
    EXPECT_TRUE(p.is_in_doubt());
    EXPECT_TRUE(p.may_overwrite_what_it_read()) << "nobody is left to ask";
}

/// What it has said of its objects has to stay true.
bool settles_after_a_survey() {
    participant p;
    EXPECT_TRUE(p.prepare(1));
    p.lose(2);
    if (!p.is_followed()) {
        p.hear(tutti::wire::fate::unknown);
        EXPECT_TRUE(p.is_followed());
    }
    p.hear(tutti::wire::fate::committed);
    return !p.is_in_doubt();
}

TEST(participants, decide_nothing_once_they_have_let_another_process_follow) {
    EXPECT_FALSE(settles_after_a_survey());
    injected_fault = fault::settle_after_survey;
    EXPECT_TRUE(settles_after_a_survey());
    injected_fault = fault::none;
    participant p;
    ASSERT_TRUE(p.prepare(1));
    p.lose(2);
    EXPECT_FALSE(p.is_followed()) << "the other one has not said what it knows";
    p.lose(1);
    EXPECT_TRUE(p.is_followed());
}

}  // namespace
