// Calls that run at the nodes of their objects, without a network. Covers memory exhaustion, and invalid messages of
// another server.

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "server/calls/forwarding.hpp"
#include "server/idle_executor.hpp"
#include "support/heap.hpp"

namespace tutti::server {
namespace {

using cluster::forwarded_call;
using cluster::forwarded_outcome;
using cluster::forwarded_reply;

/// Node 0 of three; all objects are at other nodes.
class fake_transport final : public cluster::call_transport {
public:
    cluster::call_handler* whom = nullptr;
    unsigned owned_by = 1;
    std::size_t longest = 4096;
    std::function<void()> while_it_sends;
    std::vector<std::pair<unsigned, std::uint64_t>> sent;
    std::vector<forwarded_reply> answers;

    void set_call_handler(cluster::call_handler* to) override { whom = to; }
    [[nodiscard]] unsigned number() const noexcept override { return 0; }
    [[nodiscard]] unsigned owner(const cluster::object_id&) override { return owned_by; }
    [[nodiscard]] std::size_t max_bytes() const noexcept override { return longest; }
    [[nodiscard]] bool send(unsigned to, std::uint64_t number, const forwarded_call&) override {
        sent.emplace_back(to, number);
        if (while_it_sends) while_it_sends();
        return true;
    }
    void cancel(unsigned, std::uint64_t, bool) override {}
    void send_reply(unsigned, std::uint64_t, const forwarded_reply& how) noexcept override {
        const std::uint64_t refused = std::exchange(support::refuse_after, 0);  // the test does not refuse memory here
        answers.push_back(how);
        support::refuse_after = refused;
    }
};

class fake_host final : public call_host {
public:
    bool lacks_memory = false;
    std::function<void(std::string_view, call_outcome)> asked;
    std::vector<unsigned> recalled;

    void host(const invocation&, std::vector<std::string>, call_origin,
              std::function<void(std::string_view, call_outcome)> then) override {
        if (lacks_memory) throw std::bad_alloc{};
        asked = std::move(then);
    }
    void cancel(call_origin, bool) noexcept override {}
    void cancel_all_of(unsigned node) noexcept override { recalled.push_back(node); }
};

class waiting_call final : public timed_call {
public:
    explicit waiting_call(const procedure_entry& of) {
        what = {.entry = &of, .how = {}};
        arguments = {"1"};
        due = no_deadline;
    }
    int endings = 0;

private:
    void ended() noexcept override { ++endings; }
};

struct forwarding_test : ::testing::Test {
    /// Delivers a call of another server.
    void ask(std::string procedure = "put", bool for_good = true) {
        net.whom->run(
            1, 9,
            {.procedure = std::move(procedure), .arguments = {"1"}, .routing_object = {1, 1}, .no_redirect = for_good});
    }

    catalog known;
    fake_transport net;
    fake_host hosts;
    idle_executor runs;
    forwarding calls{net, known, runs, hosts};
    const procedure_entry& put = add_put();
    waiting_call one{put}, two{put}, three{put};

    void SetUp() override { calls.start(); }

private:
    const procedure_entry& add_put() {
        known.add(
            "put", {}, [](long) { return 1; },
            [](long n) { return cluster::object_id{1, static_cast<std::uint64_t>(n)}; });
        return *known.find("put");
    }
};

// Catches a list of lost calls that needs memory, and a list that breaks when a call ends.
TEST_F(forwarding_test, answers_after_a_node_loss_without_memory) {
    ASSERT_TRUE(calls.offer(one));
    net.owned_by = 2;
    ASSERT_TRUE(calls.offer(two));
    net.owned_by = 1;
    ASSERT_TRUE(calls.offer(three));
    support::refuse_after = 1;
    net.whom->on_node_lost(1);
    support::refuse_after = 0;
    for (const waiting_call* c : {&one, &three}) {
        EXPECT_EQ(c->endings, 1);
        EXPECT_EQ(c->how_it_ended, call_outcome::outcome_unknown);
        EXPECT_EQ(c->answer.substr(0, 9), "-INDOUBT ");
    }
    EXPECT_EQ(two.endings, 0);
    EXPECT_EQ(calls.statistics().awaited, 1u);
    EXPECT_EQ(hosts.recalled, std::vector<unsigned>{1});
    net.whom->on_reply(2, net.sent[1].second, {.result = forwarded_outcome::ran, .reply = ":1\r\n"});
    EXPECT_EQ(two.endings, 1);
}

TEST_F(forwarding_test, declines_a_call_without_memory) {
    hosts.lacks_memory = true;
    EXPECT_NO_THROW(ask());
    ASSERT_EQ(net.answers.size(), 1u);
    EXPECT_EQ(net.answers[0].result, forwarded_outcome::declined);
}

// The call has run. Its client must learn that the call has run, or that the outcome is unknown.
TEST_F(forwarding_test, reports_an_answer_lost_without_memory) {
    for (const std::size_t length : {std::size_t{1000}, std::size_t{100'000}}) {
        net.answers.clear();
        ask();
        const std::string text(length, 'x');
        support::refuse_after = 1;
        EXPECT_NO_THROW(hosts.asked(text, call_outcome::ok));
        support::refuse_after = 0;
        ASSERT_EQ(net.answers.size(), 1u);
        EXPECT_EQ(net.answers[0].result, forwarded_outcome::ran);
        EXPECT_EQ(net.answers[0].reply, "");
    }
    // The asking server reports the outcome:
    ASSERT_TRUE(calls.offer(one));
    net.whom->on_reply(1, net.sent[0].second, std::move(net.answers[0]));
    EXPECT_EQ(one.how_it_ended, call_outcome::outcome_unknown);
}

TEST_F(forwarding_test, ignores_unexpected_answers) {
    ASSERT_TRUE(calls.offer(one));
    const std::uint64_t number = net.sent[0].second;
    const forwarded_reply ran{.result = forwarded_outcome::ran, .reply = ":1\r\n"};
    net.whom->on_reply(2, number, forwarded_reply{ran});
    net.whom->on_reply(1, number + 1, forwarded_reply{ran});
    EXPECT_EQ(one.endings, 0);
    net.whom->on_reply(1, number, forwarded_reply{ran});
    net.whom->on_reply(1, number, forwarded_reply{ran});
    EXPECT_EQ(one.endings, 1);
}

// Catches a call that waits forever for a lost node, and a call that two threads end.
TEST_F(forwarding_test, node_loss_during_a_send_leaves_the_call_unknown) {
    net.while_it_sends = [this] {
        net.whom->on_node_lost(1);
        EXPECT_EQ(one.endings, 0) << "who sends it looks at it still";
    };
    ASSERT_TRUE(calls.offer(one));
    EXPECT_EQ(one.endings, 1);
    EXPECT_EQ(one.how_it_ended, call_outcome::outcome_unknown);
    EXPECT_EQ(calls.statistics().awaited, 0u);
}

// FWD1, FWD2. Catches a call that servers with different knowledge of the owner forward again and again.
TEST_F(forwarding_test, forwards_a_call_once) {
    ASSERT_TRUE(calls.offer(one));
    const auto sent_on = [&](unsigned from, std::uint16_t to) {
        net.whom->on_reply(from, net.sent.back().second,
                           {.result = forwarded_outcome::elsewhere, .owner = to, .reply = {}});
    };
    sent_on(1, 2);
    ASSERT_EQ(net.sent.size(), 2u);
    EXPECT_EQ(net.sent[1].first, 2u);
    EXPECT_EQ(calls.statistics().declined, 0u);
    sent_on(2, 1);
    EXPECT_EQ(net.sent.size(), 2u);
    EXPECT_EQ(calls.statistics().declined, 1u) << "it runs here";
    EXPECT_EQ(calls.statistics().awaited, 0u);
    net.owned_by = 2;
    ask("put", false);
    ASSERT_EQ(net.answers.size(), 1u);
    EXPECT_EQ(net.answers[0].result, forwarded_outcome::elsewhere);
    EXPECT_EQ(net.answers[0].owner, 2u);
}

TEST_F(forwarding_test, bounds_forwarded_bytes) {
    const std::string long_one(10U << 20, '1');
    for (waiting_call* const c : {&one, &two}) c->arguments = {"1", long_one};
    EXPECT_FALSE(calls.offer(one)) << "no message is that long";
    net.longest = 2 * long_one.size();
    EXPECT_TRUE(calls.offer(one));
    EXPECT_FALSE(calls.offer(two)) << "there is room for one of them";
    net.whom->on_reply(1, net.sent[0].second, {.result = forwarded_outcome::ran, .reply = ":1\r\n"});
    EXPECT_TRUE(calls.offer(two));
    net.whom->on_reply(1, net.sent[1].second, {.result = forwarded_outcome::ran, .reply = ":1\r\n"});
}

}  // namespace
}  // namespace tutti::server
