// Participants resolve commits of a lost coordinator. In the first tests the coordinator is node 2, and nodes 0 and 1
// take part in its commits. Catches a participant that decides without knowledge, or that denies a commit it may have
// prepared.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "cluster/protocol/rejoin_protocol.hpp"
#include "wire/bytes.hpp"

namespace {

using namespace tutti::cluster;

class participant : public message_sender {
public:
    participant() {
        here.commits.set_sender(*this);
        here.clock.raise_to(5);
    }
    void send_one_way(node_number to, tutti::wire::message_type kind, std::string body) override {
        EXPECT_EQ(to, 1);
        if (kind == tutti::wire::message_type::fate_query) ++questions;
        tutti::wire::fate_report v;
        if (kind == tutti::wire::message_type::fate_report && tutti::wire::decode(body, v)) reports.push_back(v);
    }
    /// Handles the coordinator's prepare, which writes one object and has read another. Returns the vote.
    bool prepare(std::uint64_t sequence) {
        return here.commits
            .prepare({.who = {2, 0, sequence},
                      .decides = tutti::wire::decider::sender_of_several,
                      .reads = {{read, 0}},
                      .writes = {{written, 0, tutti::wire::action::put, "new"}},
                      .others = {1}})
            .yes;
    }
    void decide(std::uint64_t sequence, bool commits) { here.commits.decide({{2, 0, sequence}, commits, 4}); }
    void lose(node_number n) {
        here.on_node_lost(n);
        door.on_node_lost(n);
    }
    void receive_report(tutti::wire::transaction_fate f) {
        here.commits.receive_report({{2, 0, 1}, f, f == tutti::wire::transaction_fate::committed ? 5u : 0u}, 1);
    }
    [[nodiscard]] std::optional<tutti::wire::transaction_fate> report_about(std::uint64_t sequence) {
        reports.clear();
        here.commits.receive_query({2, 0, sequence}, 1);
        return reports.empty() ? std::nullopt : std::optional{reports.front().fate};
    }
    [[nodiscard]] tutti::wire::object_view read_object() {
        tutti::wire::object_view view;
        here.objects.read(written, view);
        return view;
    }
    [[nodiscard]] bool is_in_doubt() { return read_object().where == tutti::wire::lookup_result::in_doubt; }
    [[nodiscard]] bool may_overwrite_what_it_read() {
        const transaction_name another{.node = 0, .slot = 9, .sequence = 1};
        const bool may = here.objects.lock_to_write(read, 0, another) == tutti::wire::lock_refusal::none;
        here.objects.unlock(read, another);
        return may;
    }

    struct closed final : rejoin_transport {
        void send_one_way(node_number, tutti::wire::message_type kind, std::string) override {
            surveys += kind == tutti::wire::message_type::ownership_report ? 1u : 0u;
        }
        std::uint64_t process_of(node_number) override { return 0; }
        unsigned surveys = 0;
    };
    /// Lets a new process of the coordinator's node 2 ask to rejoin. Returns true if this node answers with an
    /// ownership report.
    bool is_followed() {
        const unsigned before = others.surveys;
        EXPECT_TRUE(door.receive({.type = tutti::wire::message_type::rejoin_request, .from = 2},
                                 tutti::wire::encode(tutti::wire::rejoin_request{1, {0, 0, 0}})));
        return others.surveys != before;
    }

    protocol_node here{0, 3, object_placement::home};
    closed others;
    rejoin_protocol door{here, others};
    const object_id written = at_home(0), read = at_home(written.low + 1);
    unsigned questions = 0;
    std::vector<tutti::wire::fate_report> reports;

private:
    static object_id at_home(std::uint64_t from) {
        object_id id{5, from};
        while (home_of(id, 3) != 0) ++id.low;
        return id;
    }
};

TEST(commit_participant_test, adopts_the_decision_of_another) {
    for (const bool commits : {true, false}) {
        participant p;
        ASSERT_TRUE(p.prepare(1));
        EXPECT_EQ(p.here.commits.count().in_doubt, 0u);
        p.receive_report(tutti::wire::transaction_fate::committed);
        EXPECT_EQ(p.read_object().where, tutti::wire::lookup_result::busy) << "its node runs, and is the one to say so";
        p.lose(2);
        EXPECT_EQ(p.questions, 1u);
        EXPECT_TRUE(p.is_in_doubt());
        EXPECT_EQ(p.here.commits.count().in_doubt, 1u);
        EXPECT_FALSE(p.may_overwrite_what_it_read());
        p.receive_report(commits ? tutti::wire::transaction_fate::committed : tutti::wire::transaction_fate::aborted);
        EXPECT_EQ(p.read_object().exists, commits);
        EXPECT_EQ(p.read_object().version, commits ? 5u : 0u);
        EXPECT_TRUE(p.may_overwrite_what_it_read());
        const commit_participant::statistics f = p.here.commits.count();
        EXPECT_EQ(f.in_doubt, 0u);
        EXPECT_EQ(f.committed, commits ? 1u : 0u);
        EXPECT_EQ(f.aborted, commits ? 0u : 1u);
        EXPECT_EQ(p.report_about(1),
                  commits ? tutti::wire::transaction_fate::committed : tutti::wire::transaction_fate::aborted);
    }
}

TEST(commit_participant_test, leaves_unknown_decisions_in_doubt) {
    participant p;
    ASSERT_TRUE(p.prepare(1));
    EXPECT_EQ(p.report_about(1), std::nullopt) << "its decision may arrive";
    p.lose(2);
    ASSERT_EQ(p.reports.size(), 1u) << "of what was asked for before";
    EXPECT_EQ(p.reports.front().fate, tutti::wire::transaction_fate::unknown);
    p.receive_report(tutti::wire::transaction_fate::unknown);
    EXPECT_TRUE(p.is_in_doubt());
    EXPECT_TRUE(p.may_overwrite_what_it_read());
}

/// Returns the participant's answer about a commit that was prepared and decided long ago.
std::optional<tutti::wire::transaction_fate> report_about_long_ago(bool another_process_follows) {
    participant p;
    EXPECT_TRUE(p.prepare(1));
    p.decide(1, true);
    for (std::uint64_t i = 2; i < 100 && !another_process_follows; ++i) p.decide(i, false);
    p.lose(2);
    if (another_process_follows) p.here.admit(2, 1000);
    return p.report_about(1);
}

TEST(commit_participant_test, denies_only_what_it_never_prepared) {
    {
        participant p;
        EXPECT_EQ(p.report_about(1), std::nullopt);
        p.decide(1, false);
        ASSERT_EQ(p.reports.size(), 1u);
        EXPECT_EQ(p.reports.front().fate, tutti::wire::transaction_fate::aborted);
        EXPECT_EQ(p.report_about(2), std::nullopt);
        p.lose(2);
        EXPECT_EQ(p.reports.back().fate, tutti::wire::transaction_fate::aborted);
        EXPECT_FALSE(p.prepare(2)) << "it has said that it never will";
    }
    EXPECT_EQ(report_about_long_ago(false), tutti::wire::transaction_fate::unknown);
    EXPECT_EQ(report_about_long_ago(true), tutti::wire::transaction_fate::unknown);
    injected_fault = fault::deny_forgotten;
    EXPECT_EQ(report_about_long_ago(false), tutti::wire::transaction_fate::aborted);
    EXPECT_EQ(report_about_long_ago(true), tutti::wire::transaction_fate::aborted);
    injected_fault = fault::none;
}

/// Replaces the other participant by a later process of its node, before or after the coordinator is lost. Returns true
/// if this participant believes the later process.
bool believes_a_successor(bool before) {
    participant p;
    EXPECT_TRUE(p.prepare(1));
    if (!before) p.lose(2);
    p.lose(1);
    p.here.admit(1, 1000);
    if (before) p.lose(2);
    EXPECT_TRUE(p.is_in_doubt());
    p.receive_report(tutti::wire::transaction_fate::aborted);
    return !p.is_in_doubt();
}

TEST(commit_participant_test, ignores_reports_of_later_processes) {
    EXPECT_FALSE(believes_a_successor(true));
    EXPECT_FALSE(believes_a_successor(false));
    injected_fault = fault::trust_successors;
    EXPECT_TRUE(believes_a_successor(true));
    EXPECT_TRUE(believes_a_successor(false));
    injected_fault = fault::none;
    participant p;
    p.lose(1);
    ASSERT_TRUE(p.prepare(1));
    p.here.admit(1, 1000);
    p.lose(2);
    p.receive_report(tutti::wire::transaction_fate::aborted);
    EXPECT_TRUE(p.is_in_doubt());
    EXPECT_TRUE(p.may_overwrite_what_it_read()) << "no other participant remains";
}

/// Returns true if a participant resolves its commit after it has sent an ownership report. A correct participant does
/// not, because its answers about its objects must stay true.
bool resolves_after_an_ownership_report() {
    participant p;
    EXPECT_TRUE(p.prepare(1));
    p.lose(2);
    if (!p.is_followed()) {
        p.receive_report(tutti::wire::transaction_fate::unknown);
        EXPECT_TRUE(p.is_followed());
    }
    p.receive_report(tutti::wire::transaction_fate::committed);
    return !p.is_in_doubt();
}

TEST(commit_participant_test, decides_nothing_after_an_ownership_report) {
    EXPECT_FALSE(resolves_after_an_ownership_report());
    injected_fault = fault::resolve_after_report;
    EXPECT_TRUE(resolves_after_an_ownership_report());
    injected_fault = fault::none;
    participant p;
    ASSERT_TRUE(p.prepare(1));
    p.lose(2);
    EXPECT_FALSE(p.is_followed()) << "the other one has not said what it knows";
    p.lose(1);
    EXPECT_TRUE(p.is_followed());
}

// ---- decisions of several participants together

/// Nodes 0, 1 and 2, which take part in commits of node 3. Each participant's messages wait until a test delivers them.
class three_participants {
public:
    static constexpr transaction_name who{.node = 3, .slot = 0, .sequence = 1};

    struct one : message_sender {
        explicit one(node_number n) : here{n, 4, object_placement::home} {
            here.set_sender(*this);
            here.clock.raise_to(5 + n);
            while (home_of(id, 4) != n) ++id.low;
        }
        void send_one_way(node_number to, tutti::wire::message_type kind, std::string body) override {
            if (to != here.self && to < 3) out.push_back({here.self, to, kind, std::move(body)});
        }
        tutti::wire::prepare_reply prepare(tutti::wire::decider decides = tutti::wire::decider::all_of_several) {
            std::vector<node_number> others{0, 1, 2};
            std::erase(others, here.self);
            return here.commits.prepare({.who = who,
                                         .decides = decides,
                                         .reads = {},
                                         .writes = {{id, 0, tutti::wire::action::put, "new"}},
                                         .others = std::move(others)});
        }
        /// Returns the version of the object at this node, or nothing while the object is locked.
        [[nodiscard]] std::optional<std::uint64_t> version() {
            tutti::wire::object_view view;
            here.objects.read(id, view);
            return view.where == tutti::wire::lookup_result::here ? std::optional{view.version} : std::nullopt;
        }
        struct letter {
            node_number from, to;
            tutti::wire::message_type kind{};
            std::string body;
        };
        protocol_node here;
        object_id id{9, 1};
        std::vector<letter> out;
    };

    /// Delivers all messages between the participants, and the answers to them.
    void deliver() {
        for (bool more = true; more;) {
            more = false;
            for (const auto& from : all) {
                for (const one::letter& l : std::exchange(from->out, {})) {
                    more = true;
                    bool sound = true;
                    all[l.to]->here.clock.raise_to(from->here.clock.now());
                    static_cast<void>(all[l.to]->here.serve({.type = l.kind, .from = l.from}, l.body, sound));
                    EXPECT_TRUE(sound);
                }
            }
        }
    }
    void lose_coordinator() {
        for (const auto& o : all) o->here.on_node_lost(3);
    }
    const std::vector<std::unique_ptr<one>> all = [] {
        std::vector<std::unique_ptr<one>> three;
        for (node_number n = 0; n < 3; ++n) three.push_back(std::make_unique<one>(n));
        return three;
    }();
};

TEST(commit_participant_test, commits_what_all_have_prepared) {
    three_participants t;
    std::uint64_t latest = 0;
    for (const auto& o : t.all) {
        const tutti::wire::prepare_reply answer = o->prepare();
        ASSERT_TRUE(answer.yes);
        latest = std::max(latest, answer.clock);
        o->here.clock.raise_to(20);  // the clock moves on; the node must remember its value at the vote
    }
    EXPECT_EQ(latest, 7u);
    t.lose_coordinator();
    t.deliver();
    for (const auto& o : t.all) {
        EXPECT_EQ(o->version(), latest + 1) << "as its coordinator would have had it";
        EXPECT_EQ(o->here.commits.count().transactions, 0u);
        EXPECT_EQ(o->here.commits.list_doubts().at(0).state, doubt_state::committed);
        EXPECT_FALSE(o->here.commits.list_doubts().at(0).by_hand);
    }
}

TEST(commit_participant_test, leaves_possibly_refused_commits_in_doubt) {
    three_participants t;
    for (const auto& o : t.all) ASSERT_TRUE(o->prepare(tutti::wire::decider::sender_of_several).yes);
    t.lose_coordinator();
    t.deliver();
    for (const auto& o : t.all) EXPECT_EQ(o->version(), std::nullopt);
}

TEST(commit_participant_test, aborts_what_one_has_not_prepared) {
    for (const bool withdrawn : {false, true}) {
        three_participants t;
        ASSERT_TRUE(t.all[0]->prepare().yes);
        ASSERT_TRUE(t.all[1]->prepare().yes);
        if (withdrawn) {
            ASSERT_TRUE(t.all[2]->prepare().yes);
            EXPECT_FALSE(t.all[2]->here.commits.withdraw(t.who).yes);
            EXPECT_EQ(t.all[2]->version(), 0u);
        }
        t.lose_coordinator();
        t.deliver();
        EXPECT_FALSE(t.all[2]->prepare().yes) << "it has said that it never will";
        for (const auto& o : t.all) EXPECT_EQ(o->version(), 0u);
    }
}

/// Runs a commit that all three participants have prepared, and that participant 2 then refuses. The other two
/// participants lose participant 2 and the coordinator, and receive no report from participant 2. So they do not know
/// whether participant 2 has refused. Returns true if these two participants commit.
bool commit_without_one_that_may_have_refused() {
    three_participants t;
    for (const auto& o : t.all) EXPECT_TRUE(o->prepare().yes);
    EXPECT_FALSE(t.all[2]->here.commits.withdraw(t.who).yes);  // so the coordinator reports that nothing has happened
    t.all[0]->here.on_node_lost(2);
    t.all[1]->here.on_node_lost(2);
    t.lose_coordinator();
    t.all[2]->out.clear();
    t.deliver();
    EXPECT_EQ(t.all[0]->version(), t.all[1]->version());
    return t.all[0]->version() != std::nullopt;
}

TEST(commit_participant_test, commits_only_with_all_reports) {
    EXPECT_FALSE(commit_without_one_that_may_have_refused());
    injected_fault = fault::commit_without_lost;
    EXPECT_TRUE(commit_without_one_that_may_have_refused());
    injected_fault = fault::none;
}

TEST(commit_participant_test, learns_a_commit_through_a_third_participant) {
    three_participants t;
    for (const auto& o : t.all) ASSERT_TRUE(o->prepare().yes);
    t.lose_coordinator();
    t.all[0]->here.commits.receive_report({.who = t.who, .fate = tutti::wire::transaction_fate::prepared, .version = 7},
                                          2);
    t.all[0]->here.on_node_lost(2);
    t.all[1]->here.on_node_lost(2);
    t.all[2]->out.clear();
    t.deliver();
    EXPECT_EQ(t.all[0]->version(), 8u);
    EXPECT_EQ(t.all[1]->version(), 8u);
}

TEST(commit_participant_test, answers_early_and_repeated_withdrawals) {
    three_participants t;
    three_participants::one& o = *t.all[0];
    EXPECT_FALSE(o.here.commits.withdraw(t.who).yes);
    EXPECT_FALSE(o.prepare().yes);
    EXPECT_FALSE(o.here.commits.withdraw(t.who).yes);
    EXPECT_EQ(o.version(), 0u);
}

// ---- an operator's decision

constexpr transaction_name doubted{.node = 2, .slot = 0, .sequence = 1};

/// Two participants. Each has prepared, lost its coordinator, and learned that the other does not know the outcome.
class both_in_doubt {
public:
    struct one : message_sender {
        explicit one(node_number n) : here{n, 3, object_placement::home} {
            here.set_sender(*this);
            here.clock.raise_to(n == 0 ? 5u : 20u);
            while (home_of(id, 3) != n) ++id.low;
        }
        void send_one_way(node_number to, tutti::wire::message_type kind, std::string body) override {
            if (to < 2 && kind == tutti::wire::message_type::fate_report) out.push_back(std::move(body));
        }
        bool prepare(tutti::wire::action what) {
            return here.commits
                .prepare({.who = doubted,
                          .decides = tutti::wire::decider::sender_of_several,
                          .reads = {},
                          .writes = {{id, 0, what, "new"}},
                          .others = {static_cast<node_number>(1 - here.self)}})
                .yes;
        }
        [[nodiscard]] tutti::wire::object_view read_object() {
            tutti::wire::object_view view;
            here.objects.read(id, view);
            return view;
        }
        protocol_node here;
        object_id id{8, 1};
        std::vector<std::string> out;
    };

    explicit both_in_doubt(tutti::wire::action what = tutti::wire::action::put) {
        for (one* const o : {&a, &b}) EXPECT_TRUE(o->prepare(what));
        for (one* const o : {&a, &b}) o->here.on_node_lost(2);
    }
    /// Delivers the messages of each participant to the other.
    void deliver() {
        for (const auto& [from, to] : {std::pair{&a, &b}, std::pair{&b, &a}}) {
            for (const std::string& body : std::exchange(from->out, {})) {
                tutti::wire::fate_report report;
                EXPECT_TRUE(tutti::wire::decode(body, report));
                to->here.clock.raise_to(from->here.clock.now());
                to->here.commits.receive_report(report, from->here.self);
            }
        }
    }
    void ask_each_other() {
        a.here.commits.receive_query(doubted, 1);
        b.here.commits.receive_query(doubted, 0);
        deliver();
    }
    one a{0}, b{1};
};

resolve_result result_of(const resolve_reply& a) { return a.result.value_or(resolve_result::failed); }

TEST(operator_resolution_test, resolves_unknown_decisions_at_all_participants) {
    for (const bool commits : {true, false}) {
        both_in_doubt t;
        EXPECT_EQ(result_of(t.a.here.commits.resolve(doubted, commits)), resolve_result::asking);
        EXPECT_EQ(t.a.here.commits.list_doubts().at(0).state, doubt_state::asking);
        EXPECT_EQ(t.a.here.commits.list_doubts().at(0).silent, std::vector<std::uint16_t>{1});
        t.ask_each_other();
        const doubt d = t.a.here.commits.list_doubts().at(0);
        EXPECT_EQ(d.transaction, (transaction_id{2, 0, 1}));
        EXPECT_EQ(d.state, doubt_state::open);
        EXPECT_EQ(d.participants, std::vector<std::uint16_t>{1});
        EXPECT_EQ(d.first_objects, std::vector<object_id>{t.a.id});
        EXPECT_EQ(t.a.here.commits.count().transactions, 1u);
        const resolve_reply elsewhere = t.b.here.commits.resolve(doubted, commits);
        EXPECT_EQ(result_of(elsewhere), resolve_result::not_here);
        EXPECT_EQ(elsewhere.node, 0);
        EXPECT_EQ(result_of(t.a.here.commits.resolve(doubted, commits)), resolve_result::done);
        t.deliver();
        for (both_in_doubt::one* const o : {&t.a, &t.b}) {
            EXPECT_EQ(o->read_object().where, tutti::wire::lookup_result::here);
            EXPECT_EQ(o->read_object().exists, commits);
            EXPECT_EQ(o->read_object().version, commits ? 21u : 0u) << "above the clock at which each had locked it";
            EXPECT_EQ(o->here.commits.count().transactions, 0u);
            EXPECT_EQ(o->here.commits.count().by_operator, 1u);
            EXPECT_EQ(o->here.commits.list_doubts().at(0).state,
                      commits ? doubt_state::committed : doubt_state::aborted);
            EXPECT_TRUE(o->here.commits.list_doubts().at(0).by_hand);
            EXPECT_EQ(result_of(o->here.commits.resolve(doubted, commits)), resolve_result::was_done);
            EXPECT_EQ(result_of(o->here.commits.resolve(doubted, !commits)), resolve_result::contradiction);
            EXPECT_EQ(o->read_object().exists, commits);
        }
    }
}

/// Two operators decide differently: one commits, the other aborts. Returns true if both participants agree at the end.
bool operators_agree() {
    both_in_doubt t;
    t.ask_each_other();
    static_cast<void>(t.a.here.commits.resolve(doubted, true));
    static_cast<void>(t.b.here.commits.resolve(doubted, false));
    t.deliver();
    return t.a.read_object().exists == t.b.read_object().exists;
}

TEST(operator_resolution_test, is_accepted_by_one_participant_only) {
    EXPECT_TRUE(operators_agree());
    injected_fault = fault::resolve_anywhere;
    EXPECT_FALSE(operators_agree());
    injected_fault = fault::none;
}

TEST(operator_resolution_test, refuses_decidable_transactions) {
    participant p;
    EXPECT_EQ(result_of(p.here.commits.resolve(doubted, true)), resolve_result::unknown);
    ASSERT_TRUE(p.prepare(1));
    EXPECT_EQ(result_of(p.here.commits.resolve(doubted, true)), resolve_result::runs);
    p.lose(2);
    p.receive_report(tutti::wire::transaction_fate::committed);
    EXPECT_EQ(result_of(p.here.commits.resolve(doubted, true)), resolve_result::was_done);
    EXPECT_EQ(result_of(p.here.commits.resolve(doubted, false)), resolve_result::contradiction);
    EXPECT_FALSE(p.here.commits.list_doubts().at(0).by_hand);
    EXPECT_EQ(p.here.commits.count().by_operator, 0u);
}

TEST(operator_resolution_test, resolves_after_a_rejoin) {
    for (const bool commits : {true, false}) {
        participant p;
        ASSERT_TRUE(p.prepare(1));
        p.lose(2);
        p.receive_report(tutti::wire::transaction_fate::unknown);
        EXPECT_TRUE(p.is_followed());
        p.here.admit(2, 1000);
        EXPECT_TRUE(p.is_in_doubt());
        EXPECT_EQ(result_of(p.here.commits.resolve(doubted, commits)), resolve_result::done);
        EXPECT_EQ(p.read_object().where, tutti::wire::lookup_result::here);
        EXPECT_EQ(p.read_object().exists, commits);
        ASSERT_FALSE(p.reports.empty()) << "the other participant is told";
        EXPECT_TRUE(p.reports.back().by_hand);
    }
}

TEST(operator_resolution_test, skips_read_only_commits) {
    participant p;
    ASSERT_TRUE(
        p.here.commits
            .prepare({.who = doubted, .decides = tutti::wire::decider::sender, .reads = {{p.read, 0}}, .writes = {}})
            .yes);
    p.lose(2);
    EXPECT_EQ(p.here.commits.count().transactions, 0u);
    EXPECT_TRUE(p.here.commits.list_doubts().empty());
}

TEST(operator_resolution_test, erases_objects_moving_to_the_lost_node) {
    both_in_doubt t{tutti::wire::action::leave};
    t.ask_each_other();
    EXPECT_EQ(result_of(t.a.here.commits.resolve(doubted, true)), resolve_result::done);
    t.deliver();
    for (both_in_doubt::one* const o : {&t.a, &t.b}) {
        EXPECT_EQ(o->read_object().where, tutti::wire::lookup_result::here);
        EXPECT_FALSE(o->read_object().exists);
        EXPECT_EQ(o->read_object().version, 21u);
    }
}

}  // namespace
