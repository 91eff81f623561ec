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

// ---- an operator's word

constexpr transaction_name doubted{.node = 2, .slot = 0, .sequence = 1};

/// Of two participants each of which has prepared, lost its coordinator, and heard that the other one does not know.
class both_in_doubt {
public:
    struct one : speaker {
        explicit one(node_number n) : here{n, 3, moving::never} {
            here.speak_through(*this);
            here.clock.raise_to(n == 0 ? 5u : 20u);
            while (home_of(id, 3) != n) ++id.low;
        }
        void say(node_number to, tutti::wire::kind kind, std::string body) override {
            if (to < 2 && kind == tutti::wire::kind::verdict) out.push_back(std::move(body));
        }
        bool prepare(tutti::wire::action what) {
            return here.votes
                .prepare({.who = doubted,
                          .decides = tutti::wire::decider::sender_of_several,
                          .reads = {},
                          .writes = {{id, 0, what, "new"}},
                          .others = {static_cast<node_number>(1 - here.self)}})
                .yes;
        }
        [[nodiscard]] tutti::wire::object_view look() {
            tutti::wire::object_view view;
            here.objects.look(id, view);
            return view;
        }
        site here;
        object_id id{8, 1};
        std::vector<std::string> out;
    };

    explicit both_in_doubt(tutti::wire::action what = tutti::wire::action::put) {
        for (one* const o : {&a, &b}) EXPECT_TRUE(o->prepare(what));
        for (one* const o : {&a, &b}) o->here.lose(2);
    }
    /// What each has said arrives at the other.
    void deliver() {
        for (const auto& [from, to] : {std::pair{&a, &b}, std::pair{&b, &a}}) {
            for (const std::string& body : std::exchange(from->out, {})) {
                tutti::wire::verdict told;
                EXPECT_TRUE(tutti::wire::decode(body, told));
                to->here.clock.raise_to(from->here.clock.now());
                to->here.votes.hear(told, from->here.self);
            }
        }
    }
    void ask_each_other() {
        a.here.votes.inquire(doubted, 1);
        b.here.votes.inquire(doubted, 0);
        deliver();
    }
    one a{0}, b{1};
};

settling result_of(const settling_answer& a) { return a.result.value_or(settling::failed); }

TEST(an_operator, settles_at_all_participants_what_none_of_them_knows) {
    for (const bool commits : {true, false}) {
        both_in_doubt t;
        EXPECT_EQ(result_of(t.a.here.votes.settle(doubted, commits)), settling::asking);
        EXPECT_EQ(t.a.here.votes.list_doubts().at(0).state, doubt_state::asking);
        EXPECT_EQ(t.a.here.votes.list_doubts().at(0).silent, std::vector<std::uint16_t>{1});
        t.ask_each_other();
        const doubt d = t.a.here.votes.list_doubts().at(0);
        EXPECT_EQ(d.transaction, (transaction_id{2, 0, 1}));
        EXPECT_EQ(d.state, doubt_state::open);
        EXPECT_EQ(d.participants, std::vector<std::uint16_t>{1});
        EXPECT_EQ(d.first_objects, std::vector<object_id>{t.a.id});
        EXPECT_EQ(t.a.here.votes.count().transactions, 1u);
        const settling_answer elsewhere = t.b.here.votes.settle(doubted, commits);
        EXPECT_EQ(result_of(elsewhere), settling::not_here);
        EXPECT_EQ(elsewhere.node, 0);
        EXPECT_EQ(result_of(t.a.here.votes.settle(doubted, commits)), settling::done);
        t.deliver();
        for (both_in_doubt::one* const o : {&t.a, &t.b}) {
            EXPECT_EQ(o->look().where, tutti::wire::whereabouts::here);
            EXPECT_EQ(o->look().exists, commits);
            EXPECT_EQ(o->look().version, commits ? 21u : 0u) << "above the clock at which each had locked it";
            EXPECT_EQ(o->here.votes.count().transactions, 0u);
            EXPECT_EQ(o->here.votes.count().by_hand, 1u);
            EXPECT_EQ(o->here.votes.list_doubts().at(0).state, commits ? doubt_state::committed : doubt_state::aborted);
            EXPECT_TRUE(o->here.votes.list_doubts().at(0).by_hand);
            EXPECT_EQ(result_of(o->here.votes.settle(doubted, commits)), settling::was_done);
            EXPECT_EQ(result_of(o->here.votes.settle(doubted, !commits)), settling::contradiction);
            EXPECT_EQ(o->look().exists, commits);
        }
    }
}

/// Two operators, of whom one wants it and the other does not. Whether both participants agree then.
bool operators_agree() {
    both_in_doubt t;
    t.ask_each_other();
    static_cast<void>(t.a.here.votes.settle(doubted, true));
    static_cast<void>(t.b.here.votes.settle(doubted, false));
    t.deliver();
    return t.a.look().exists == t.b.look().exists;
}

TEST(an_operator, is_heard_by_one_participant_alone) {
    EXPECT_TRUE(operators_agree());
    injected_fault = fault::settle_anywhere;
    EXPECT_FALSE(operators_agree());
    injected_fault = fault::none;
}

TEST(an_operator, settles_nothing_that_a_node_decides_or_knows) {
    participant p;
    EXPECT_EQ(result_of(p.here.votes.settle(doubted, true)), settling::unknown);
    ASSERT_TRUE(p.prepare(1));
    EXPECT_EQ(result_of(p.here.votes.settle(doubted, true)), settling::runs);
    p.lose(2);
    p.hear(tutti::wire::fate::committed);
    EXPECT_EQ(result_of(p.here.votes.settle(doubted, true)), settling::was_done);
    EXPECT_EQ(result_of(p.here.votes.settle(doubted, false)), settling::contradiction);
    EXPECT_FALSE(p.here.votes.list_doubts().at(0).by_hand);
    EXPECT_EQ(p.here.votes.count().by_hand, 0u);
}

TEST(an_operator, settles_also_after_another_process_follows) {
    for (const bool commits : {true, false}) {
        participant p;
        ASSERT_TRUE(p.prepare(1));
        p.lose(2);
        p.hear(tutti::wire::fate::unknown);
        EXPECT_TRUE(p.is_followed());
        p.here.admit(2, 1000);
        EXPECT_TRUE(p.is_in_doubt());
        EXPECT_EQ(result_of(p.here.votes.settle(doubted, commits)), settling::done);
        EXPECT_EQ(p.look().where, tutti::wire::whereabouts::here);
        EXPECT_EQ(p.look().exists, commits);
        ASSERT_FALSE(p.told.empty()) << "the other participant is told";
        EXPECT_TRUE(p.told.back().by_hand);
    }
}

TEST(an_operator, is_not_asked_about_a_commit_that_has_only_read) {
    participant p;
    ASSERT_TRUE(
        p.here.votes
            .prepare({.who = doubted, .decides = tutti::wire::decider::sender, .reads = {{p.read, 0}}, .writes = {}})
            .yes);
    p.lose(2);
    EXPECT_EQ(p.here.votes.count().transactions, 0u);
    EXPECT_TRUE(p.here.votes.list_doubts().empty());
}

TEST(an_operator, ends_what_was_to_move_to_the_node_that_is_gone) {
    both_in_doubt t{tutti::wire::action::leave};
    t.ask_each_other();
    EXPECT_EQ(result_of(t.a.here.votes.settle(doubted, true)), settling::done);
    t.deliver();
    for (both_in_doubt::one* const o : {&t.a, &t.b}) {
        EXPECT_EQ(o->look().where, tutti::wire::whereabouts::here);
        EXPECT_FALSE(o->look().exists);
        EXPECT_EQ(o->look().version, 21u);
    }
}

}  // namespace
